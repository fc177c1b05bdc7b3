from collections.abc import Sequence

import pytest

from benchmarks.shared.fathom import FIGURE_3
from scaling.features.profiling.evaluation import Merge, merges, shares_in, shares_of
from scaling.features.profiling.profile import profile
from tests.traced import step, trace

CONVOLUTIONAL = {"alexnet", "vgg", "residual", "deepq"}


def is_group(history: Sequence[Merge], members: set[str]) -> bool:
    """Whether exactly these members were a group at some point of the clustering."""
    return any({*merge.left, *merge.right} == members for merge in history)


@pytest.mark.parametrize(
    ("linkage", "last"),
    [("centroid", (0.015, 0.042, 0.436, 0.923)), ("average", (0.016, 0.046, 0.465, 0.934))],
)
def test_the_papers_own_table_joins_in_its_order_and_at_its_distances(linkage, last):
    alexnet, deepq, sequences, everyone = last
    history = merges(shares_in(FIGURE_3), linkage)
    assert [{*merge.left, *merge.right} for merge in history[:5]] == [
        {"residual", "vgg"},
        {"residual", "vgg", "alexnet"},
        {"speech", "autoenc"},
        {"residual", "vgg", "alexnet", "deepq"},
        {"seq2seq", "memnet"},
    ]
    distances = (0.003, alexnet, 0.026, deepq, 0.110, sequences, everyone)
    assert [merge.distance for merge in history] == pytest.approx(distances, abs=0.002)


@pytest.mark.parametrize("linkage", ["centroid", "average"])
def test_the_papers_convolutional_networks_form_one_cluster_before_others_join(linkage):
    history = merges(shares_in(FIGURE_3), linkage)
    assert is_group(history, CONVOLUTIONAL)
    assert not is_group(history, {"alexnet", "speech"})


def test_distance_is_of_proportions_and_not_of_amounts():
    shares = shares_in({"one": {"MatMul": 1.0}, "twice": {"MatMul": 2.0}, "other": {"Mul": 1.0}})
    assert shares.distance(0, 1) == pytest.approx(0.0)
    assert shares.distance(0, 2) == pytest.approx(1.0)


def test_profiles_are_compared_by_the_shares_of_their_ops():
    one, other = (profile([trace(step(ops))]) for ops in ({"MatMul": 3.0, "Mul": 4.0}, {"MatMul": 1.0}))
    shares = shares_of({"one": one, "other": other})
    assert shares.types == ("Mul", "MatMul")
    assert shares.distance(0, 1) == pytest.approx(1 - 0.6)


def test_one_workload_alone_joins_nobody():
    assert merges(shares_in({"one": {"MatMul": 1.0}})) == ()
