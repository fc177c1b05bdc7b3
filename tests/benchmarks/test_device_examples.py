"""The queue of the lent machine, by its smallest run: a part that is open, measured in a copy, kept, and closed."""

import json
from dataclasses import replace

import pytest

from benchmarks import device_examples
from benchmarks.device_examples import PARTS, Part, keep, measure
from scaling.results.store import read_rows
from scaling.study.spec import Study

TINY = Study(workloads=["calibrated work=0.2"], cores=[1], max_seconds=0.05, rounds=1, turn_seconds=0.05, launches=2)


def test_whole_launches_are_added_to_a_kept_folder_until_a_part_has_what_it_must_reach(tmp_path):
    kept, work = tmp_path / "kept", tmp_path / "work"
    part = Part("tiny", "tiny-sixteen", 1, TINY)
    assert part.lacking(kept) == 2
    measure(kept, work, [part], 60)
    assert (keep(kept, work, part), keep(kept, work, part), part.lacking(kept)) == (2, 0, 0)
    longer = replace(part, name="longer", study=replace(TINY, launches=3))
    assert longer.lacking(kept) == 1
    measure(kept, work, [part, longer], 60)
    assert keep(kept, work, longer) == 1
    rows = list(read_rows(kept / "tiny-sixteen"))
    assert [row.run.launch for row in rows] == [1, 2, 3]
    assert {row.machine.host for row in rows} == {device_examples.MACHINE_NAME}
    assert all(seconds == round(seconds, 8) for row in rows for seconds in row.outcome.step_seconds)


def test_a_cohort_that_was_cut_short_is_not_kept(tmp_path):
    part = Part("cut", "cut-sixteen", 1, TINY)
    folder = tmp_path / "work/cut"
    folder.mkdir(parents=True)
    whole, cut = ({"run": {"cohort": {"name": name, "members": 2}}} for name in "ab")
    stored = [{**run, "started_at": str(number)} for number, run in enumerate([whole, cut, whole])]
    (folder / "power.jsonl").write_text("".join(json.dumps(one) + "\n" for one in stored))
    keep(tmp_path / "kept", tmp_path / "work", part)
    kept = (tmp_path / "kept/cut-sixteen/power.jsonl").read_text().splitlines()
    assert [json.loads(line)["started_at"] for line in kept] == ["0", "2"]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_is_a_command_that_can_be_given(part, tmp_path):
    words = part.command(tmp_path)
    assert words[3] == ("sweep" if part.steps is None else "profile")
    assert "machine_name" in (tmp_path / f"{part.name}.toml").read_text()
    assert part.lacking(tmp_path) == part.study.launches


def test_the_queue_says_what_each_part_must_reach_and_lacks(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["device_examples", str(tmp_path)])
    device_examples.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(PARTS)
    assert all(line.count("|") == 7 for line in lines)
