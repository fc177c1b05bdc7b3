from scaling.analysis.speedup import scaled
from scaling.analysis.summary import by_point
from scaling.results.rows import launch_of
from scaling.results.store import Store, read_rows
from scaling.running.loop import sweep
from scaling.study.planning import plan
from tests.pretend import AmdahlMachine, machine, study


def test_a_whole_sweep_ends_in_the_law_it_was_made_from(tmp_path):
    store = Store(tmp_path)
    runs = plan(study('cores = "all"'), machine(16)).runs
    handed_on = list(sweep(runs, AmdahlMachine(serial=0.1), store))
    assert list(read_rows(tmp_path)) == handed_on
    for point in scaled(by_point(map(launch_of, handed_on))):
        cores = point.summary.point.cores
        truth = 1 / (0.1 + 0.9 / cores)
        assert point.valid
        assert abs(point.speedup.value / truth - 1) < 0.005
        assert point.speedup.low <= point.speedup.value <= point.speedup.high


def test_a_row_is_kept_before_it_is_handed_on(tmp_path):
    store = Store(tmp_path)
    for number, _ in enumerate(sweep(plan(study(), machine(4)).runs, AmdahlMachine(), store), 1):
        assert len(list(read_rows(tmp_path))) == number
