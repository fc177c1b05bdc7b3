import json
from dataclasses import replace

from scaling.features import ObjectiveQuestion
from scaling.features.services.report import objective
from tests.scaling.features.services.loads import grid, point, summaries

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


def test_services_of_one_name_are_told_apart():
    one, two = (replace(point(cores, 8), smt=cores) for cores in (1, 2))
    measured = summaries({one: 1000.0, two: 1500.0})
    sentences = objective(question(measured, throughput=500.0)).sentences
    assert [sentence.partition(":")[0] for sentence in sentences] == ["echo smt 1", "echo smt 2"]
