from itertools import product
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from scaling.analysis.permutation import MOST_WAYS, permutation_test

SIZES = [(5, 5), (4, 5), (6, 4), (6, 6)]


def groups(sizes: tuple[int, int], seed: int = 1, apart: float = 0.0) -> tuple[list[float], list[float]]:
    chance = np.random.default_rng(seed)
    before, after = (chance.exponential(size=size) for size in sizes)
    return list(before), list(after + apart)


def reference(before: list[float], after: list[float]) -> float:
    result = stats.permutation_test(
        (np.array(after), np.array(before)), lambda one, other: one.mean() - other.mean(), n_resamples=np.inf
    )
    return float(result.pvalue)


@pytest.mark.parametrize(("sizes", "apart"), [*product(SIZES, [0.0, 1.0, 5.0])])
def test_the_probability_is_that_of_scipys_permutation_test(sizes, apart):
    before, after = groups(sizes, apart=apart)
    assert permutation_test(before, after).probability == pytest.approx(reference(before, after))


@pytest.mark.parametrize("sizes", SIZES)
def test_the_interval_holds_the_shifts_the_test_does_not_refuse(sizes):
    before, after = groups(sizes, seed=2)
    result = permutation_test(before, after)
    for bound, inwards in ((result.difference.low, 1e-9), (result.difference.high, -1e-9)):
        assert permutation_test(before, [value - bound - inwards for value in after]).probability > 0.05
        assert permutation_test(before, [value - bound + inwards for value in after]).probability <= 0.05


def test_groups_wholly_apart_are_the_most_extreme_permutation():
    before, after = groups((5, 5), apart=9.0)
    assert permutation_test(before, after).most_extreme
    assert permutation_test(before, after).probability == pytest.approx(2 / 252)
    assert permutation_test(after, before).most_extreme
    assert not permutation_test(*groups((5, 5))).most_extreme


def test_three_launches_a_side_have_too_few_ways():
    assert permutation_test(*groups((3, 3))) is None
    assert permutation_test(*groups((4, 4))) is None


def test_equal_launches_differ_in_nothing():
    result = permutation_test([0.1] * 5, [0.1] * 5)
    assert (result.probability, result.difference.low, result.difference.high) == pytest.approx((1.0, 0.0, 0.0))


@pytest.mark.parametrize("sizes", [(9, 9), (30, 20)])
def test_where_there_are_too_many_ways_some_are_drawn_and_always_the_same(sizes):
    before, after = groups(sizes, seed=3, apart=0.4)
    result = permutation_test(before, after)
    assert result == permutation_test(before, after)
    student = stats.ttest_ind(before, after)
    assert result.probability == pytest.approx(student.pvalue, abs=0.05)
    assert result.difference.low < fmean(after) - fmean(before) < result.difference.high
    assert (result.difference.low, result.difference.high) == pytest.approx(
        [-value for value in student.confidence_interval()][::-1], abs=0.15
    )
    assert permutation_test(before, [value + 99 for value in after]).probability == pytest.approx(2 / MOST_WAYS)
