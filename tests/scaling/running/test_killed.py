import pytest

from benchmarks.killed import VICTIMS, kill_and_resume


@pytest.mark.parametrize(("start", "rounds"), [("spawn", 8), ("fork", 8)])
def test_a_sweep_killed_at_random_moments_loses_nothing_and_measures_nothing_twice(tmp_path, start, rounds):
    tally = kill_and_resume(rounds, seed=3, folder=tmp_path, start=start)
    assert tally.problems == []
    assert set(tally.kills) == set(VICTIMS[start])
