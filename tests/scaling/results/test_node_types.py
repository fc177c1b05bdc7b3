import pytest

from benchmarks.shared.machines import first_run
from scaling.analysis.capacity import answer
from scaling.analysis.series import series_key
from scaling.analysis.sizing.question import Goal, Question, Status
from scaling.analysis.sizing.sizes import Price
from scaling.results.node_types import same_work, series_labels
from tests.scaling.reporting.node_types import kind

SERIES = series_key(first_run().point)
TWO = 'workloads = ["alexnet", "vgg"]\ncores = [1, 2, 3, 4, 5, 6, 7, 8]\nlaunches = 4'


@pytest.fixture
def kinds(tmp_path):
    return [
        kind("quick", tmp_path, serials=[0.05], core_hour=4.0),
        kind("cheap", tmp_path, serials=[0.05], slower=2.0, hosts=("c1", "c2"), apart=0.01),
    ]


def test_the_size_to_give_does_and_costs_what_an_answer_says_of_it(kinds):
    quick = kinds[0]
    (limits,) = quick.evaluation.limits
    found = quick.recommendation(SERIES)
    assert found.cores == limits.recommended
    asked = answer(
        limits.fit, Question(Goal.THROUGHPUT, 0.9 * found.rate.value, price=Price(4.0)), quick.evaluation.sizes
    )
    told = {each.cores: each for each in [asked.offer, *asked.neighbours]}[found.cores]
    assert (told.rate, told.cost_per_million, told.efficiency) == (found.rate, found.cost_per_million, found.efficiency)
    assert quick.recommendation(series_key(first_run('modes = ["infer"]').point)) is None


def test_kinds_are_compared_at_a_round_throughput_that_each_should_reach(kinds):
    (work,) = same_work(kinds)
    slowest = min(each.recommendation(SERIES).rate.value for each in kinds)
    assert 0.8 * slowest < work.target <= 0.9 * slowest
    assert float(f"{work.target:.1e}") == work.target
    assert [(each.node_type, each.answer.status) for each in work.answers] == [("quick", "ok"), ("cheap", "ok")]
    assert [each.answer.question.price.core_hour for each in work.answers] == [4.0, 1.0]


def test_kinds_that_are_sure_of_less_are_compared_at_less(tmp_path):
    kinds = [kind("calm", tmp_path), kind("restless", tmp_path, noise=0.08, include_invalid=True)]
    (work,) = same_work(kinds)
    slowest = min(each.recommendation(SERIES).rate.value for each in kinds)
    assert 0.4 * slowest < work.target <= 0.75 * slowest
    assert {each.answer.status for each in work.answers} == {"ok"}


def test_kinds_are_compared_at_the_throughput_asked_for(kinds):
    (work,) = same_work(kinds, 1e9)
    assert work.target == 1e9
    assert {each.answer.status for each in work.answers} <= {Status.NOT_REACHABLE, Status.REFUSED}


def test_a_program_that_only_one_kind_has_is_not_compared(tmp_path):
    kinds = [kind("both", tmp_path, TWO), kind("one", tmp_path, TWO.replace('"alexnet", ', ""))]
    assert list(series_labels(kinds).values()) == ["alexnet train", "vgg train"]
    assert [work.label for work in same_work(kinds)] == ["vgg train"]


def test_programs_of_one_name_with_different_settings_are_not_compared(tmp_path):
    counts = "cores = [1, 2, 3, 4, 5, 6, 7, 8]\nlaunches = 4"
    kinds = [kind("small", tmp_path, f"{counts}\nitems = [16]"), kind("large", tmp_path, f"{counts}\nitems = [64]")]
    assert len(series_labels(kinds)) == 2
    assert same_work(kinds) == []


def test_kinds_without_a_law_are_not_compared(tmp_path):
    lone = "cores = [1]\nlaunches = 4"
    kinds = [kind("a", tmp_path, lone), kind("b", tmp_path, lone)]
    assert same_work(kinds) == []
    assert same_work(kinds, 10.0) == []


def test_points_on_several_machines_of_a_kind_are_known(kinds):
    quick, cheap = kinds
    assert quick.between == []
    assert {each.machines[0][0] for each in cheap.between} == {"c1"}
    assert len(cheap.between) == 8
