import random
from math import exp, sqrt
from statistics import fmean

import pytest

from benchmarks.shared.machines import first_run, machine, row, study
from scaling.analysis.series import series_key
from scaling.analysis.sizing.capacity import answer
from scaling.analysis.sizing.question import Goal, Question, Status
from scaling.analysis.sizing.sizes import Price
from scaling.features.cluster.node_types import between, same_work, series_labels, several_machines
from scaling.results.rows import launch_of
from scaling.study.planning import plan
from tests.scaling.features.cluster.node_types import make_node_type

POINT = first_run().point
SERIES = series_key(POINT)
TWO = 'workloads = ["alexnet", "vgg"]\ncores = [1, 2, 3, 4, 5, 6, 7, 8]\nlaunches = 4'


@pytest.fixture
def node_types(tmp_path):
    return [
        make_node_type("quick", tmp_path, serials=[0.05], core_hour=4.0),
        make_node_type("cheap", tmp_path, serials=[0.05], slower=2.0, hosts=("c1", "c2"), apart=0.01),
    ]


def test_the_size_to_give_does_and_costs_what_an_answer_says_of_it(node_types):
    quick = node_types[0]
    (limits,) = quick.evaluation.limits
    recommended = quick.recommendation(SERIES)
    assert recommended.cores == limits.recommended
    answered = answer(
        limits.fit, Question(Goal.THROUGHPUT, 0.9 * recommended.rate.value, price=Price(4.0)), quick.evaluation.sizes
    )
    same_size = {allocation.cores: allocation for allocation in [answered.allocation, *answered.neighbours]}[
        recommended.cores
    ]
    assert (same_size.rate, same_size.cost_per_million, same_size.efficiency) == (
        recommended.rate,
        recommended.cost_per_million,
        recommended.efficiency,
    )
    assert quick.recommendation(series_key(first_run('modes = ["infer"]').point)) is None


def test_node_types_are_compared_at_a_round_throughput_that_each_should_reach(node_types):
    (work,) = same_work(node_types)
    slowest = min(node_type.recommendation(SERIES).rate.value for node_type in node_types)
    assert 0.8 * slowest < work.target <= 0.9 * slowest
    assert float(f"{work.target:.1e}") == work.target
    assert [(answered.node_type, answered.answer.status) for answered in work.answers] == [
        ("quick", "ok"),
        ("cheap", "ok"),
    ]
    assert [answered.answer.question.price.core_hour for answered in work.answers] == [4.0, 1.0]


def test_node_types_that_are_sure_of_less_are_compared_at_less(tmp_path):
    node_types = [
        make_node_type("calm", tmp_path),
        make_node_type("restless", tmp_path, noise=0.08),
    ]
    (work,) = same_work(node_types)
    slowest = min(node_type.recommendation(SERIES).rate.value for node_type in node_types)
    assert 0.4 * slowest < work.target <= 0.75 * slowest
    assert {answered.answer.status for answered in work.answers} == {"ok"}


def test_node_types_are_compared_at_the_throughput_asked_for(node_types):
    (work,) = same_work(node_types, 1e9)
    assert work.target == 1e9
    assert {answered.answer.status for answered in work.answers} <= {Status.NOT_REACHABLE, Status.REFUSED}


def test_a_program_that_only_one_node_type_has_is_not_compared(tmp_path):
    node_types = [
        make_node_type("both", tmp_path, TWO),
        make_node_type("one", tmp_path, TWO.replace('"alexnet", ', "")),
    ]
    assert list(series_labels(node_types).values()) == ["alexnet train", "vgg train"]
    assert [work.label for work in same_work(node_types)] == ["vgg train"]


def test_programs_of_one_name_with_different_settings_are_not_compared(tmp_path):
    counts = "cores = [1, 2, 3, 4, 5, 6, 7, 8]\nlaunches = 4"
    node_types = [
        make_node_type("small", tmp_path, f"{counts}\nitems = [16]"),
        make_node_type("large", tmp_path, f"{counts}\nitems = [64]"),
    ]
    assert len(series_labels(node_types)) == 2
    assert same_work(node_types) == []


def test_node_types_without_a_law_are_not_compared(tmp_path):
    lone = "cores = [1]\nlaunches = 4"
    node_types = [make_node_type("a", tmp_path, lone), make_node_type("b", tmp_path, lone)]
    assert same_work(node_types) == []
    assert same_work(node_types, 10.0) == []


def test_points_on_several_machines_of_a_node_type_are_known(node_types):
    quick, cheap = node_types
    assert quick.between == []
    assert {point.machines[0][0] for point in cheap.between} == {"c1"}
    assert len(cheap.between) == 8


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
