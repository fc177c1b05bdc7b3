import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import Store, read_rows
from scaling.running.loop import measure
from scaling.running.schedule import Schedule
from scaling.study.planning import plan


def test_a_whole_sweep_ends_in_the_law_it_was_made_from(tmp_path):
    store = Store(tmp_path)
    swept = study('cores = "all"')
    rows = []
    schedule = Schedule(swept, plan(swept, machine(16)).runs)
    measure(schedule, AmdahlMachine(serial=0.1).execute(schedule), store.append, rows.append)
    assert list(read_rows(tmp_path)) == rows
    for point in speedups(summarize(map(launch_of, rows))):
        cores = point.summary.point.cores
        truth = 1 / (0.1 + 0.9 / cores)
        assert point.valid
        assert abs(point.speedup.value / truth - 1) < 0.005
        assert point.speedup.low <= point.speedup.value <= point.speedup.high


def test_a_row_is_stored_and_the_schedule_knows_it_before_the_caller_does(tmp_path):
    store = Store(tmp_path)
    schedule = Schedule(study(), plan(study(), machine(4)).runs)
    seen = []

    def on_row(row):
        seen.append(row)
        assert list(read_rows(tmp_path)) == seen
        assert schedule.completed == len(seen)

    measure(schedule, AmdahlMachine().execute(schedule), store.append, on_row)
    assert (len(seen), schedule.pending) == (schedule.total, [])


def test_a_request_to_stop_is_looked_for_after_every_row(tmp_path):
    schedule = Schedule(study(), plan(study(), machine(4)).runs)

    def check_stop():
        if schedule.completed == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(schedule, AmdahlMachine().execute(schedule), Store(tmp_path).append, lambda row: None, check_stop)
    assert len(list(read_rows(tmp_path))) == 3


def test_a_run_whose_row_could_not_be_stored_is_still_to_be_made():
    schedule, seen = Schedule(study(), plan(study(), machine(4)).runs), []

    def full_disk(item):
        raise StoreError("no space left")

    with pytest.raises(StoreError):
        measure(schedule, AmdahlMachine().execute(schedule), full_disk, seen.append)
    assert (schedule.completed, len(schedule.pending), seen) == (0, schedule.total, [])
