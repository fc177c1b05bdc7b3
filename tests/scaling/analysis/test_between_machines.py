import random
from math import exp, sqrt
from statistics import fmean

import pytest

from benchmarks.shared.machines import first_run, machine, row, study
from scaling.analysis.between_machines import between, several_machines
from scaling.results.rows import launch_of
from scaling.study.planning import plan

POINT = first_run().point


def test_machines_that_agree_are_not_apart():
    result = between(POINT, {"a": [1.0, 1.02, 0.98], "b": [1.0, 0.98, 1.02]})
    assert (result.between, result.apart) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert result.within == pytest.approx(0.02, rel=0.01)


def test_one_launch_a_machine_cannot_tell_machines_from_launches():
    result = between(POINT, {"a": [1.0], "b": [1.2]})
    assert (result.between, result.within) == (None, None)
    assert result.apart == pytest.approx(0.2)


def test_a_balanced_case_by_hand():
    # Machine means e^0 and e^0.2, launches 0.01 to either side: MS between 0.04, MS within 0.0002, two launches each.
    result = between(POINT, {"a": [exp(-0.01), exp(0.01)], "b": [exp(0.19), exp(0.21)]})
    assert result.within == pytest.approx(sqrt(0.0002))
    assert result.between == pytest.approx(sqrt((0.04 - 0.0002) / 2))


def test_the_spread_that_was_put_in_comes_out_on_average():
    chance = random.Random(5)
    variances = []
    for _ in range(800):
        machines = {}
        for name, launches in (("a", 3), ("b", 5), ("c", 2), ("d", 4)):
            offset = chance.gauss(0, 0.05)
            machines[name] = [exp(offset + chance.gauss(0, 0.02)) for _ in range(launches)]
        variances.append((between(POINT, machines).between or 0.0) ** 2)
    assert sqrt(fmean(variances)) == pytest.approx(0.05, rel=0.05)


def test_only_points_on_several_machines_are_named():
    launch = launch_of(row())
    assert several_machines([("a", launch), ("a", launch)]) == []
    (result,) = several_machines([("a", launch), ("b", launch)])
    assert [host for host, _, _ in result.machines] == ["a", "b"]


def test_points_come_in_the_order_they_have_in_a_table():
    runs = reversed(plan(study("cores = [1, 2, 4]\nlaunches = 2"), machine(4)).runs)
    results = several_machines((f"m{run.launch % 2}", launch_of(row(run))) for run in runs)
    assert [result.point.cores for result in results] == [1, 2, 4]
