"""What a killed sweep leaves behind, processes and files, is gone soon afterwards."""

import pytest

from benchmarks.shared.kills import VICTIMS, kill_and_resume
from scaling.running.reaper import Reaper


def test_the_reaper_removes_what_a_killed_sweep_has_left(tmp_path):
    scratch = tmp_path / "scratch"
    reaper = Reaper("nobody carries this mark", scratch=scratch)
    scratch.mkdir()
    (scratch / "half.xplane.pb").write_bytes(b"half of a trace")
    reaper.close()
    assert not scratch.exists()


@pytest.mark.parametrize(
    ("start", "design", "rounds"), [("spawn", "turns", 6), ("fork", "turns", 8), ("spawn", "apart", 6)]
)
def test_a_sweep_killed_at_random_moments_loses_nothing_and_measures_nothing_twice(tmp_path, start, design, rounds):
    tally = kill_and_resume(rounds, seed=3, folder=tmp_path, start=start, design=design)
    assert tally.problems == []
    assert set(tally.kills) == set(VICTIMS[start])
