from types import SimpleNamespace

import pytest

from benchmarks.shared.machines import HOST, AmdahlMachine, first_run, machine, study
from scaling.analysis.series import Series, SeriesKey
from scaling.analysis.sizing.question import Goal, Question
from scaling.analysis.sizing.sizes import Price
from scaling.api.results import load
from scaling.api.sizing import at_price, deployments
from scaling.api.sources import Source
from scaling.results.store import Store
from scaling.study.planning import plan

JOB = Question(Goal.THROUGHPUT, 3.0, price=Price(2.0, 0.5, 4.0))


@pytest.fixture
def folder(tmp_path):
    """A sweep with one thread per core, on a machine with cores of two threads."""
    host = machine(8, smt=2)
    store = Store(tmp_path / "results")
    store.write_machine(HOST, host)
    runs = plan(
        study('cores = "doubling"\nlaunches = 3\nworkloads = ["calibrated", "calibrated serial=0.3"]'), host
    ).runs
    for row in AmdahlMachine(serial=0.1).execute(runs):
        store.append(row)
    store.close()
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("device", "core_hour", "hourly"),
    [("cpu", None, 0.5 + 3 * 2), ("gpu", None, 0.5 + 4 + 3 * 2), ("cpu", 7.0, 0.5 + 3 * 7), ("gpu", 7.0, 4.5 + 3 * 7)],
)
def test_a_series_has_the_price_of_its_gpu_and_of_its_node_type(tmp_path, device, core_hour, hourly):
    settings = first_run(f'device = "{device}"\nworkloads = ["autoenc"]').point
    one = SimpleNamespace(series=Series("any", (), key=SeriesKey(settings)))
    assert at_price(JOB, Source(tmp_path, core_hour=core_hour), one).price.hourly(3) == hourly


def test_a_prefix_of_two_labels_names_neither_series(folder):
    fits = load(folder).fits
    assert fits["calibrated s"].label == "calibrated serial=0.3 train"
    with pytest.raises(KeyError, match="2 series begin with 'calib'"):
        fits["calib"]


def test_a_deployed_core_has_the_threads_that_its_size_leaves_idle(folder):
    results = load(folder).where("workload=calibrated serial=0.3")
    (size,) = deployments(results.sources, list(results.capacity(throughput=1.5)))
    assert (size.threads, size.core_threads) == (1, 2)
    assert size.cpus == 2 * size.cores


def test_a_deadline_says_how_long_its_job_takes(folder):
    (answer,) = load(folder).where("workload=calibrated serial=0.3").capacity(work=3600, epochs=2, deadline="2h")
    assert answer.allocation.job_seconds.value == pytest.approx(7200 * (0.1 + 0.9 / answer.allocation.cores), rel=0.02)
    assert answer.allocation.job_seconds.high < 7200
