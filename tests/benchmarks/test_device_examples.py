"""The queue of the lent machine, by its smallest run: a part that is open, measured in a copy, kept, and closed."""

import json
import tarfile
from dataclasses import replace

import pytest

from benchmarks import device_examples
from benchmarks.device_examples import PARTS, ROOT, Part, keep, measure, pack
from scaling.results.compressed import open_part
from scaling.results.store import read_rows
from scaling.study.programs import Program
from scaling.study.spec import Study

TINY = Study(workloads=["calibrated work=0.2"], cores=[1], max_seconds=0.05, rounds=1, turn_seconds=0.05, launches=2)
# The minutes that a lent machine leaves after TensorFlow was brought, the probe and transfers.
SITTING_MINUTES = 20


def launches(folder):
    return [row.run.launch for row in read_rows(folder)]


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


def test_a_part_that_begins_each_use_adds_launches_to_the_kept_ones_once_per_work(tmp_path):
    kept, first, second = tmp_path / "kept", tmp_path / "first", tmp_path / "second"
    part = Part("probe", "probe-sixteen", 1, TINY, begins_each_use=True)
    measure(kept, first, [part], 60)
    keep(kept, first, part)
    measure(kept, first, [part], 60)
    assert launches(first / "probe") == [1, 2]
    assert (part.lacking(kept), part.launches_in(kept)) == (2, 4)
    measure(kept, second, [part], 60)
    keep(kept, second, part)
    assert launches(kept / "probe-sixteen") == [1, 2, 3, 4]


def test_a_work_has_one_sitting_and_a_kept_sitting_is_not_added_to(tmp_path):
    kept, work = tmp_path / "kept", tmp_path / "work"
    one, other = (Part(name, name, 1, TINY, one_sitting=True) for name in ("one", "other"))
    measure(kept, work, [one, other], 60)
    measure(kept, work, [one, other], 60)
    assert launches(work / "one") == [1, 2]
    assert not (work / "other").exists()
    keep(kept, work, one)
    longer = replace(one, study=replace(TINY, launches=3))
    assert (longer.lacking(kept), other.lacking(kept)) == (0, 2)


def test_a_cohort_that_was_cut_short_is_not_kept(tmp_path):
    part = Part("cut", "cut-sixteen", 1, TINY)
    folder = tmp_path / "work/cut"
    folder.mkdir(parents=True)
    whole, cut = ({"run": {"cohort": {"name": name, "members": 2}}} for name in "ab")
    stored = [{**run, "started_at": str(number)} for number, run in enumerate([whole, cut, whole])]
    (folder / "power.jsonl").write_text("".join(json.dumps(one) + "\n" for one in stored))
    keep(tmp_path / "kept", tmp_path / "work", part)
    with open_part(tmp_path / "kept/cut-sixteen/power.jsonl.xz") as lines:
        assert [json.loads(line)["started_at"] for line in lines] == ["0", "2"]


def test_a_later_call_makes_a_cohort_again_that_was_cut_short(tmp_path):
    work, part = tmp_path / "work", Part("cut", "cut-sixteen", 1, TINY, one_sitting=True)
    measure(tmp_path / "kept", work, [part], 60)
    rows = work / "cut/rows.jsonl"
    first, second = map(json.loads, rows.read_text().splitlines())
    first["run"]["cohort"]["members"] = 2
    rows.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n" + '{"torn')
    keep(tmp_path / "kept", work, part)
    measure(tmp_path / "kept", work, [part], 60)
    assert sorted(launches(work / "cut")) == [1, 2]
    assert [row.run.cohort.members for row in read_rows(work / "cut")] == [1, 1]


def test_rows_of_a_program_name_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(device_examples, "write_inputs", lambda folder: (folder / "lines.txt").write_text("b\na\n"))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "carried").write_text("#!/bin/sh\nexec sort lines.txt\n")
    (programs / "carried").chmod(0o755)
    study = Study(programs=[Program(name="carried", command=["carried"])], cores=[1], launches=1)
    measure(tmp_path / "kept", tmp_path / "work", [Part("part", "part", 1, study)], 60, programs)
    (row,) = read_rows(tmp_path / "work/part")
    assert (row.outcome.status, [file.name for file in row.program_files or ()]) == ("ok", ["carried"])
    texts = [path.read_text() for path in (tmp_path / "work/part").iterdir()]
    assert not [text for text in texts if str(tmp_path) in text or str(ROOT) in text]


def test_results_are_packed_without_the_inputs(tmp_path):
    for name in ("part/rows.jsonl", "inputs/lines.txt"):
        (tmp_path / "work" / name).parent.mkdir(parents=True)
        (tmp_path / "work" / name).write_text("line\n")
    pack(tmp_path / "work", tmp_path / "all.tar.xz")
    with tarfile.open(tmp_path / "all.tar.xz") as archive:
        assert archive.getnames() == ["part", "part/rows.jsonl"]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_is_a_command_that_can_be_given(part, tmp_path):
    part.begin(tmp_path, tmp_path)
    assert str(tmp_path / f"{part.name}.toml") in part.command(tmp_path)
    assert "machine_name" in (tmp_path / f"{part.name}.toml").read_text()
    assert part.lacking(tmp_path) == part.study.launches


@pytest.mark.parametrize("part", [part for part in PARTS if part.one_sitting], ids=lambda part: part.name)
def test_every_sitting_fits_into_one_use(part):
    assert part.minutes * part.study.launches <= SITTING_MINUTES


def test_the_queue_says_what_each_part_must_reach_and_lacks(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["device_examples", str(tmp_path)])
    device_examples.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(PARTS)
    assert all(line.count("|") == 7 for line in lines)
