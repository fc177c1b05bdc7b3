from dataclasses import replace

import pytest

from scaling.reporting.cluster import side_by_side, side_by_side_facts, side_by_side_table
from scaling.reporting.page.node_types import same_work_lines
from scaling.results.node_types import NodeTypeAnswer, same_work
from tests.scaling.reporting.node_types import make_node_type


@pytest.fixture
def node_types(tmp_path):
    return [
        make_node_type("quick", tmp_path, serials=[0.05], core_hour=4.0),
        make_node_type("cheap", tmp_path, serials=[0.05], slower=2.0, hosts=("c1", "c2"), apart=0.01),
    ]


def test_node_types_that_need_as_few_cores_are_all_named(tmp_path):
    (work,) = same_work(
        [make_node_type("a", tmp_path, serials=[0.05]), make_node_type("b", tmp_path, serials=[0.05], core_hour=2.0)]
    )
    (sentence,) = side_by_side(work.answers)
    assert "cheapest on a, " in sentence
    assert "fewest cores on a and b, " in sentence
    assert side_by_side_facts(work.answers)[0]["fewest_cores"] == "a"


def test_sizes_that_use_both_threads_of_a_core_are_compared_by_hardware_threads(node_types):
    (work,) = same_work(node_types)
    allocation = replace(work.answers[0].answer.allocation, cores=8, threads=2, cost_per_million=0.0)
    answers = [
        NodeTypeAnswer(name, replace(work.answers[0].answer, allocation=chosen))
        for name, chosen in (
            ("wide", replace(allocation, cores=12, threads=1, cost_per_million=1.0)),
            ("narrow", allocation),
        )
    ]
    (sentence,) = side_by_side(answers)
    assert "cheapest on narrow, 0 per million with 8×2 hardware threads" in sentence
    assert sentence.endswith("fewest hardware threads on wide, 12")
    assert [row[2] for row in side_by_side_table(answers).rows] == ["12", "8×2"]
    (facts,) = side_by_side_facts(answers)
    assert [(chosen["cores"], chosen["threads"]) for chosen in facts["node_types"].values()] == [(12, 1), (8, 2)]
    assert same_work_lines(replace(work, answers=tuple(answers)))[0].marks == ("fewest hardware threads",)
