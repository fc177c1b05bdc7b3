import json
import re
from dataclasses import replace

import pytest

from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.errors import FitError
from scaling.features import ObjectiveQuestion
from scaling.features.services.load import services
from scaling.features.services.report import load_facts, loads_table, objective, quantities, sentences
from scaling.reporting.deployment import deployment_lines
from tests.mentions import mentions
from tests.scaling.features.services.loads import grid, launches, point, summaries

NOTHING = dict.fromkeys(("throughput", "latency", "efficiency"))


def question(found, quantile=None, **targets: float) -> ObjectiveQuestion:
    return ObjectiveQuestion(found, {}, {**NOTHING, **targets}, quantile)


def test_a_rate_with_a_latency_is_answered_with_what_was_measured():
    answer = objective(question(grid(), throughput=12000.0, latency=0.01))
    assert answer.is_answer
    (facts,) = answer.facts["services"]
    assert (facts["cores"], facts["replicas"], facts["closed_loop"]) == (2, 1, True)
    assert "closed loop" in answer.sentences[0]
    json.dumps(answer.facts)


def test_a_rate_that_was_offered_is_named_so():
    answer = objective(question(summaries({point(1, 8, 1250000.0): 1245000.0}), throughput=1240000.0, latency=0.01))
    assert "1250000/s offered" in answer.sentences[0]
    assert answer.facts["services"][0]["closed_loop"] is False


def test_services_of_one_name_are_told_apart():
    one, two = (replace(point(cores, 8), smt=cores) for cores in (1, 2))
    measured = summaries({one: 1000.0, two: 1500.0})
    sentences = objective(question(measured, throughput=500.0)).sentences
    assert [sentence.partition(":")[0] for sentence in sentences] == ["echo smt 1", "echo smt 2"]


def test_the_size_is_what_kubernetes_is_asked_for():
    answer = objective(question(grid(), throughput=12000.0, latency=0.01))
    lines = deployment_lines(answer.deployments, "kubernetes")
    assert "    cpu: 2000m" in lines
    assert "    memory: 128Mi" in lines


def test_replicas_are_asked_for_and_said_to_be_alone():
    answer = objective(question(grid(), throughput=40000.0))
    assert any(line.startswith("replicas: ") for line in deployment_lines(answer.deployments, "kubernetes"))
    assert "not measured together" in answer.sentences[0]


def test_a_promise_that_nothing_keeps_is_no_answer_and_names_what_is_nearest():
    answer = objective(question(grid(), throughput=100.0, latency=0.001))
    assert not answer.is_answer
    assert "the lowest p99 is" in answer.sentences[0]


def test_a_promise_of_a_point_without_an_interval_is_no_answer_and_the_sentence_says_why():
    alone, *_ = launches(point(1, 8), 1000.0)
    answer = objective(question(summarize([alone]), throughput=900.0))
    assert not answer.is_answer
    assert mentions(answer.sentences, "no answer yet for echo: … 900 requests/s; 1 core may do, … without an interval")


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ({"latency": 0.1}, "add --throughput"),
        ({"throughput": 1.0, "efficiency": 0.5}, "not efficiency"),
        ({"throughput": float("nan")}, "--throughput is nan, but must be a number above 0"),
        ({"throughput": 0.0}, "--throughput is 0, but must be a number above 0"),
        ({"throughput": 1.0, "latency": -1.0}, "--latency is -1, but must be a number above 0"),
        ({"throughput": 1.0, "latency": 0.1, "quantile": 0.95}, "no generator printed p95"),
    ],
)
def test_what_cannot_be_answered_is_refused(targets, problem):
    quantile = targets.pop("quantile", None)
    with pytest.raises(FitError, match=problem):
        objective(question(grid(), quantile, **targets))


def test_without_a_rate_there_are_the_curves_and_every_load():
    answer = objective(question(grid()))
    assert len(answer.tables[0].rows) == 14
    assert [curve["over"] for curve in answer.facts["curves"]] == ["clients", "clients", "cores"]
    assert answer.facts["curves"][0]["saturating_clients"] == 32


def test_a_curve_that_no_law_describes_is_said_to_be_so_and_where_throughput_falls():
    rates = {1: 1000.0, 2: 1900.0, 4: 3600.0, 8: 3500.0, 16: 1700.0, 32: 900.0, 64: 850.0}
    (sentence,) = sentences(summaries({point(1, clients): rate for clients, rate in rates.items()}))
    assert re.search(r"scalability law does not describe it, \d+ % off; throughput falls from 8 clients on$", sentence)
    (falling,) = sentences(summaries({point(1, clients): 1000.0 / clients for clients in rates}))
    assert "1 client saturates it" in falling
    assert falling.endswith("; throughput falls from 1 client on")


def test_where_there_is_no_service_nothing_is_said():
    assert not objective(question([])).is_answer
    assert sentences([]) == []
    assert load_facts(summaries({point(): 1.0})[0]) is not None


def test_the_columns_of_a_point_name_the_latency_that_was_printed():
    points = speedups(grid(cores=[1, 2], clients=[4]))
    (load,) = quantities()
    assert load.headers(points) == [">p99", ">generator busy", ">server busy"]
    assert load.cells(points[0]) == ["2 ms", "50.0 %", "100.0 %"]
    assert loads_table(services(one.summary for one in points)[0]).rows[0][:3] == ("1", "4", "closed loop")
