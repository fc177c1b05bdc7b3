import collections
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.machines import HOST, machine, row, study
from scaling.errors import StoreError
from scaling.machine.doctor.findings import Finding
from scaling.results.jsonl import Redo
from scaling.results.rows import SCHEMA, ProgramFile, Sections, row_from_json, row_to_json
from scaling.results.store import (
    FINDINGS,
    Store,
    made_before,
    period,
    public_row,
    read_folder,
    read_rows,
    storable,
    with_program_files,
)
from scaling.results.traces import MeterTrace, PowerTrace
from scaling.study.planning import plan
from tests.conftest import need
from tests.mentions import mentions

ROWS = [row(run) for run in plan(study(), machine(4)).runs]


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "results")
    yield made
    made.close()


def stored_rows(store: Store) -> list[object]:
    return list(read_rows(store.folder))


def reopened(store: Store) -> Store:
    store.close()
    store.__init__(store.folder)
    return store


def test_rows_come_back_in_the_order_they_were_kept(store):
    for one in ROWS:
        store.append(one)
    assert stored_rows(store) == ROWS


def test_an_empty_folder_has_no_rows(store):
    assert stored_rows(store) == []
    assert not store.set_aside


@pytest.mark.parametrize("cut", [1, 2, 100, 1000])
def test_a_torn_last_line_is_set_aside_and_the_rest_is_kept(store, cut):
    store.append(ROWS[0])
    store.append(ROWS[1])
    path = store.folder / "rows.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert reopened(store).set_aside
    assert stored_rows(store) == ROWS[:1]
    assert (store.folder / "rows.torn").read_bytes().rstrip(b"\n") in whole
    store.append(ROWS[1])
    assert stored_rows(store) == ROWS[:2]


def test_a_last_line_of_zeros_is_set_aside(store):
    store.append(ROWS[0])
    with (store.folder / "rows.jsonl").open("ab") as file:
        file.write(b"\0" * 4096 + b"\n")
    assert reopened(store).set_aside
    assert stored_rows(store) == ROWS[:1]


def test_a_torn_only_line_leaves_an_empty_file(store):
    (store.folder / "rows.jsonl").write_bytes(b'{"schema"')
    assert reopened(store).set_aside
    assert stored_rows(store) == []


def test_a_last_line_longer_than_the_first_look_is_found(store):
    long = row(ROWS[0].run, step_seconds=(0.123456789,) * 50_000)
    store.append(ROWS[1])
    store.append(long)
    assert not reopened(store).set_aside
    assert stored_rows(store) == [ROWS[1], long]


def test_a_bad_line_in_the_middle_is_refused_with_its_number(store):
    store.append(ROWS[0])
    with (store.folder / "rows.jsonl").open("a") as file:
        file.write("rubbish\n" + row_to_json(ROWS[1]) + "\n")
    with pytest.raises(StoreError, match=r"rows.jsonl line 2 is"):
        stored_rows(store)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 16 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], capture_output=True)
    need(mounted.returncode == 0, "the right to mount a small disk")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_loses_no_row(small_disk):
    many = [replace(one, started_at=str(number)) for number in range(10) for one in ROWS]
    store = Store(small_disk / "results")
    with pytest.raises(StoreError, match="space left on device;"):
        collections.deque(map(store.append, many))
    kept_rows = stored_rows(store)
    store.close()
    assert kept_rows
    assert kept_rows == many[: len(kept_rows)]


def test_a_folder_is_written_by_one_sweep_at_a_time(store):
    with pytest.raises(StoreError, match="another sweep is writing"):
        Store(store.folder)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot be written: .*; choose another with `folder=`"):
        Store(tmp_path / "file" / "results")


def test_failures_set_aside_are_kept_beside_the_rows(store):
    failed = row(ROWS[1].run, status="failed", reason="no", step_seconds=())
    for one in (ROWS[0], failed, ROWS[2]):
        store.append(one)
    assert store.set_runs_aside(Redo.FAILED) == 1
    store.append(ROWS[1])
    assert stored_rows(store) == [ROWS[0], ROWS[2], ROWS[1]]
    assert (store.folder / "rows.retried.jsonl").read_text() == row_to_json(failed) + "\n"


def test_rows_of_runs_that_are_all_made_again_are_kept_beside_the_new_ones(store):
    for number in range(2):
        store.append(replace(ROWS[0], started_at=str(number)))
        assert store.set_runs_aside(Redo.ALL) == 1
    store.append(ROWS[1])
    assert stored_rows(store) == [ROWS[1]]
    kept = (store.folder / "rows.retried.jsonl").read_text().splitlines()
    assert [row_from_json(line).started_at for line in kept] == ["0", "1"]


def test_rows_get_the_files_that_are_measured(tmp_path):
    file = ProgramFile("prog", 1, 1.0, "0123456789abcdef")
    store = Store(tmp_path, {ROWS[0].run.point.workload: (file,)})
    store.append(ROWS[0])
    assert stored_rows(store) == [replace(ROWS[0], program_files=(file,))]
    store.close()


def test_a_finished_study_says_from_when_its_results_are():
    later = replace(ROWS[1], started_at="2026-01-01T02:30:00+01:00")
    assert period(ROWS) == "2026-01-01 00:00 to 05:00 UTC"
    assert mentions(made_before([ROWS[0], later]), "all 2 runs … 2026-01-01 00:00 to 01:30 UTC")


def test_a_folder_without_rows_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no results in"):
        list(read_rows(tmp_path))


LOAD = Finding("load", "spoiler", "3.1 on 2 CPUs", "it takes time away", "stop it")


def written(folder, rows=1):
    store = Store(folder)
    store.write_study('workloads = ["calibrated"]\n')
    store.write_machine(HOST, machine(4, smt=2))
    store.write_findings([LOAD])
    for _ in range(rows):
        store.append(row())
    store.close()
    return folder


def test_a_folder_is_read_whole(tmp_path):
    folder = read_folder(written(tmp_path / "mine"))
    assert (folder.name, len(folder.rows), folder.study_toml) == ("mine", 1, 'workloads = ["calibrated"]\n')
    assert folder.findings == (LOAD,)
    assert (folder.machine.host, folder.machine.cores[1]) == ("pretend", (2, 3))


def test_what_an_older_sweep_did_not_write_is_none(tmp_path):
    written(tmp_path)
    for name in ("study.toml", "machine.json", FINDINGS):
        (tmp_path / name).unlink()
    folder = read_folder(tmp_path)
    assert (folder.study_toml, folder.machine, folder.findings) == (None, None, None)


def test_a_folder_without_a_row_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no rows in"):
        read_folder(written(tmp_path, rows=0))


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "load"}]'])
def test_findings_that_are_none_are_refused(tmp_path, text):
    written(tmp_path)
    (tmp_path / FINDINGS).write_text(text)
    with pytest.raises(StoreError, match=r"doctor\.json does not hold"):
        read_folder(tmp_path)


@pytest.mark.parametrize("facts", ['{"topology": {"core_cpus": [1]}}', '{"topology": {"core_cpus": ["x"]}}'])
def test_a_machine_file_that_describes_none_is_refused(tmp_path, facts):
    written(tmp_path)
    (tmp_path / "machine.json").write_text(facts)
    with pytest.raises(StoreError, match="describe a machine"):
        read_folder(tmp_path)


def test_the_plain_steps_of_a_profile_are_rows_where_there_are_no_others():
    folder = read_folder(Path(__file__).parents[3] / "docs" / "examples" / "profiles-small")
    assert len(folder.rows) == len(folder.traces) == 32
    assert all(row.outcome.step_seconds for row in folder.rows)


def test_a_last_row_of_a_later_version_is_neither_passed_over_nor_set_aside(tmp_path):
    later = row_to_json(ROWS[0]) + "\n" + row_to_json(ROWS[1]).replace(f'"schema":{SCHEMA}', '"schema":999') + "\n"
    (tmp_path / "rows.jsonl").write_text(later)
    with pytest.raises(StoreError, match=r"rows.jsonl line 2 has schema 999"):
        list(read_rows(tmp_path))
    with pytest.raises(StoreError, match=r"rows.jsonl has schema 9"):
        Store(tmp_path)
    assert (tmp_path / "rows.jsonl").read_text() == later


def test_rows_that_are_there_twice_count_once(store):
    for one in (ROWS[0], ROWS[1], ROWS[0], replace(ROWS[1], started_at="2027-01-01T00:00:00+00:00")):
        store.append(one)
    assert len(stored_rows(store)) == 3
    assert read_folder(store.folder).census.repeated == 1


@pytest.mark.parametrize(("full", "shown"), [(False, "***"), (True, "hunter2")])
def test_a_secret_of_a_study_leaves_its_folder_only_where_all_is_asked_for(store, full, shown):
    store.append(ROWS[0])
    store.write_study('workloads = ["command: ./prog --token=hunter2"]')
    assert read_folder(store.folder, full).study_toml == f'workloads = ["command: ./prog --token={shown}"]'


def test_a_store_that_is_closed_lets_another_write_power_too(store):
    meter = MeterTrace("package-0", "package", (0.0, 1.0), (10.0, 11.0))
    traces = [PowerTrace(one.run, one.started_at, (meter,)) for one in ROWS[:2]]
    for trace in traces:
        store.append_power(trace)
        reopened(store)
    store.append(ROWS[0])
    assert list(read_folder(store.folder).power) == traces


def test_a_row_of_two_workloads_has_the_files_of_both():
    made = row()
    beside = replace(made, run=replace(made.run, point=replace(made.run.point, beside="other")))
    one, other = ProgramFile("one", 1, 1.0, "1"), ProgramFile("other", 1, 1.0, "2")
    files = {made.run.point.workload: (one,), "other": (one, other), "third": ()}
    assert with_program_files(made, files).program_files == (one,)
    assert with_program_files(beside, files).program_files == (one, other)


@given(text=st.text(alphabet=st.characters(codec=None, categories=None)))
def test_any_text_can_be_stored(text):
    one = storable(replace(row(reason=text, status="failed", stderr_tail=text), environment=((text, text),)))
    assert row_from_json(row_to_json(one)) == one
    if text.isascii():
        assert one.outcome.reason == text


@pytest.mark.parametrize(
    "wrong",
    [
        *({"step_seconds": (value,)} for value in (float("nan"), float("inf"), -1.0, 0.0)),
        *({"items_per_step": value} for value in (0, -1, 10**400)),
        {"last_loss": float("nan")},
        {"warmup_steps": -1},
        {"sections": Sections(wall=float("inf"))},
    ],
    ids=str,
)
def test_a_row_that_could_not_be_read_again_is_that_of_a_failed_run(wrong):
    one = storable(row(**wrong))
    assert one.outcome.status == "failed"
    assert "measured values cannot be stored" in one.outcome.reason
    assert row_from_json(row_to_json(one)) == one


def test_bytes_that_are_no_utf_8_are_kept_by_escape():
    assert storable(row(reason=os.fsdecode(b"a\xff\xc3\xa9"), status="failed")).outcome.reason == "a\\xff\xe9"


def test_a_public_row_tells_nothing_of_a_person_and_says_what_it_leaves_out():
    private = (("HOME", "/home/ada"), ("LANG", "C"), ("LC_CTYPE", "C"), ("LC_PROJECT", "x"), ("USER", "ada"))
    one = replace(
        row(status="failed", reason="no /home/ada/data", stderr_tail="curl --token=hunter2", step_seconds=()),
        versions=(("interpreter", "/home/ada/venv/bin/python"),),
        environment=(*private, ("DATABASE", "ldap://user:hunter2@host"), ("OPTIONS", "--password=hunter2 /home/ada/x")),
    )
    public = public_row(one)
    assert not [text for text in ("ada", "hunter2") if text in row_to_json(public)]
    shown = {"DATABASE": "ldap://user:***@host", "OPTIONS": "--password=*** ~/x"}
    assert dict(public.environment) == {"LANG": "C", "LC_CTYPE": "C", **shown}
    assert public.left_out == ("HOME", "LC_PROJECT", "USER")
    assert public_row(public) == public
    assert row_from_json(row_to_json(public)) == public
