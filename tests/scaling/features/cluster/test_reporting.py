"""Node types side by side: sentences, tables and JSON."""

from dataclasses import replace

from scaling.features.cluster.node_types import NodeTypeAnswer, same_work, side_by_side
from scaling.features.cluster.page import same_work_lines
from scaling.features.cluster.reporting import SIDE_BY_SIDE, side_by_side_sentences, side_by_side_table
from tests.mentions import mentions
from tests.scaling.features.cluster.node_types import make_node_type


def test_node_types_that_need_as_few_cores_are_all_named(tmp_path):
    (work,) = same_work(
        [make_node_type("a", tmp_path, serials=[0.05]), make_node_type("b", tmp_path, serials=[0.05], core_hour=2.0)]
    )
    compared = side_by_side(work.answers)
    (sentence,) = side_by_side_sentences(compared)
    assert "cheapest on a, " in sentence
    assert "fewest cores" in sentence
    assert SIDE_BY_SIDE.of(compared[0])["fewest_cores"] == "a"


def test_sizes_that_use_both_threads_of_a_core_are_compared_by_hardware_threads(tmp_path):
    both = [
        make_node_type("quick", tmp_path, serials=[0.05], core_hour=4.0),
        make_node_type("cheap", tmp_path, serials=[0.05], slower=2.0, hosts=("c1", "c2"), apart=0.01),
    ]
    (work,) = same_work(both)
    allocation = replace(work.answers[0].answer.allocation, cores=8, threads=2, cost_per_million=0.0)
    answers = [
        NodeTypeAnswer(name, replace(work.answers[0].answer, allocation=chosen))
        for name, chosen in (
            ("wide", replace(allocation, cores=12, threads=1, cost_per_million=1.0)),
            ("narrow", allocation),
        )
    ]
    compared = side_by_side(answers)
    (sentence,) = side_by_side_sentences(compared)
    assert mentions(sentence, "narrow, 0 per … 8×2")
    assert sentence.endswith("threads on wide, 12")
    assert [row[2] for row in side_by_side_table(compared).rows] == ["12", "8×2"]
    facts = SIDE_BY_SIDE.of(compared[0])
    assert [(chosen["cores"], chosen["threads"]) for chosen in facts["node_types"].values()] == [(12, 1), (8, 2)]
    assert same_work_lines(replace(work, answers=tuple(answers)))[0].marks == ("fewest hardware threads",)
