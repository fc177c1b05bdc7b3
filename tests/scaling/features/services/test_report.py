import json
import re
from dataclasses import replace

from scaling.analysis.speedup import speedups
from scaling.features import ObjectiveQuestion
from scaling.features.services.load import services
from scaling.features.services.report import loads_table, objective, quantities, sentences
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


def test_the_columns_of_a_point_name_the_latency_that_was_printed():
    points = speedups(grid(cores=[1, 2], clients=[4]))
    (load,) = quantities()
    assert load.headers(points) == [">p99", ">generator busy", ">server busy"]
    assert load.cells(points[0]) == ["2 ms", "50.0 %", "100.0 %"]
    assert loads_table(services(one.summary for one in points)[0]).rows[0][:3] == ("1", "4", "closed loop")
