import os

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.errors import StoreError
from scaling.results import launches
from scaling.results.rows import row_to_json
from scaling.results.store import RowCensus
from scaling.study.planning import plan


@pytest.fixture
def folder(tmp_path):
    runs = plan(study(cores='"all"', launches="3"), machine(8)).runs
    lines = [row_to_json(row) for row in AmdahlMachine().execute(runs)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{line}\n" for line in [*lines, lines[3]]))
    return tmp_path


@pytest.fixture
def by_processes(monkeypatch):
    """Small files are read by two processes too, a few lines at a time."""
    monkeypatch.setattr(launches, "LEAST_BYTES", 0)
    monkeypatch.setattr(launches, "PIECE_BYTES", 10_000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})


def test_processes_read_what_one_reads(folder, by_processes, monkeypatch):
    census, alone = RowCensus(), RowCensus()
    read = list(launches.read_launches(folder, census))
    monkeypatch.setattr(launches, "LEAST_BYTES", 2**40)
    assert read == list(launches.read_launches(folder, alone))
    assert (census.repeated, census.machines) == (alone.repeated, alone.machines)
    assert census.repeated == 1


@pytest.mark.usefixtures("by_processes")
def test_a_line_that_cannot_be_read_is_named_by_its_number(folder):
    file = folder / "rows.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:4], "{}\n", *lines[4:]]))
    with pytest.raises(StoreError, match="line 5 is not a row"):
        list(launches.read_launches(folder, RowCensus()))


@pytest.mark.usefixtures("by_processes")
def test_a_torn_last_line_is_passed_over(folder):
    file = folder / "rows.jsonl"
    whole = len(list(launches.read_launches(folder, RowCensus())))
    with file.open("a") as end:
        end.write('{"schema": 1, "ru')
    assert len(list(launches.read_launches(folder, RowCensus()))) == whole
