import os
from contextlib import contextmanager

import pytest

from scaling.workloads.base import Setting
from scaling.workloads.calibrated import build

CPUS = len(os.sched_getaffinity(0))
SETTING = Setting(mode="train", size="small", items=None, times=1, cores=4, smt=1, intra=4, inter=0, seed=1)


@contextmanager
def prepared(setting, **options):
    workload = build(setting, **options)
    workload.prepare()
    try:
        yield workload
    finally:
        workload.helpers.end()


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("serial", [0.0, 0.1, 0.5, 1.0])
def test_the_work_is_the_same_whatever_the_threads(threads, serial):
    workload = build(SETTING._replace(intra=threads), serial=serial, work=10)
    whole = workload.serial + sum(workload.shares)
    assert whole == pytest.approx(10e6, abs=1)
    assert workload.serial / whole == pytest.approx(serial, abs=1e-3)
    assert max(workload.shares) - min(workload.shares) <= 1
    assert len(workload.shares) == threads


def test_automatic_threads_are_as_many_as_the_cpus(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2})
    assert len(build(SETTING._replace(intra=0)).shares) == 3


@pytest.mark.parametrize("serial", [0.0, 0.1, 0.5, 1.0])
def test_weak_scaling_grows_the_work_with_the_items_and_keeps_the_serial_share_of_the_time(serial):
    one, four = build(SETTING._replace(intra=1), serial=serial), build(SETTING._replace(times=4), serial=serial)
    assert four.serial + sum(four.shares) == pytest.approx(4 * (one.serial + sum(one.shares)), rel=1e-6)
    assert four.serial / (four.serial + four.shares[0]) == pytest.approx(serial, abs=1e-6)
    assert (one.items_per_step, four.items_per_step) == (1, 4)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_a_step_uses_every_thread_and_comes_back(threads):
    with prepared(SETTING._replace(intra=threads), work=0.1) as workload:
        assert [workload.step() for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("items", [None, 3])
def test_as_many_threads_as_cpus_state_their_serial_fraction_and_hand_off(items):
    with prepared(SETTING._replace(intra=0, items=items), serial=0.25, work=0.1) as workload:
        assert workload.truth["serial_fraction"] == pytest.approx(0.25 / (0.25 + 0.75 * (items or 1)))
        assert workload.truth["overhead_seconds"] > 0


def test_weak_scaling_states_the_serial_fraction_of_gustafsons_law():
    with prepared(SETTING._replace(intra=0, times=CPUS), serial=0.25, work=0.1) as workload:
        assert workload.truth["serial_fraction"] == pytest.approx(0.25)


@pytest.mark.parametrize("other", [{"intra": CPUS + 1}, {"intra": 0, "times": CPUS + 1}])
def test_other_threads_than_cpus_and_other_items_state_no_truth(other):
    with prepared(SETTING._replace(**other), work=0.1) as workload:
        assert workload.truth is None


@pytest.mark.parametrize("wrong", [{"serial": -0.1}, {"serial": 1.1}, {"work": 0}, {"work": -1}])
def test_parameters_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="is not"):
        build(SETTING, **wrong)
