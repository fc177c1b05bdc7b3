from itertools import product
from statistics import median

import numpy as np
import pytest
from scipy import stats

from scaling.analysis.permutation import (
    MOST_WAYS,
    RESOLUTION,
    PermutationTest,
    fewest_launches,
    paired_tests,
    permutation_tests,
)

SIZES = [(5, 5), (4, 5), (6, 4), (6, 6)]


def groups(sizes: tuple[int, int], seed: int = 1, apart: float = 0.0) -> tuple[list[float], list[float]]:
    chance = np.random.default_rng(seed)
    before, after = (chance.exponential(size=size) for size in sizes)
    return list(before), list(after + apart)


def by_number(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values, 1))


def permutation_test(before: list[float], after: list[float]) -> PermutationTest:
    (test,) = permutation_tests([by_number(before)], [by_number(after)])
    return test


def paired_test(differences: list[float]) -> PermutationTest:
    (test,) = paired_tests([by_number(differences)])
    return test


def standardised(second: np.ndarray, scores: np.ndarray) -> float:
    """How many standard deviations, over all ways to choose as many, the sum of those chosen lies from its mean."""
    count, chosen = len(scores), second.sum()
    variance = chosen * (count - chosen) / (count - 1) * scores.var()
    return abs(scores[second].sum() - chosen * scores.mean()) / np.sqrt(variance)


def reference(before: list[float], after: list[float]) -> float:
    """By SciPy's permutation test, which knows nothing of how the ways are made here."""
    pooled = np.array([*before, *after])
    scores = stats.rankdata(pooled), np.minimum(pooled, np.median(pooled))
    indices = np.arange(len(pooled))
    result = stats.permutation_test(
        (indices[len(before) :], indices[: len(before)]),
        lambda second, _: max(standardised(np.isin(indices, second), one) for one in scores),
        n_resamples=np.inf,
        alternative="greater",
    )
    return float(result.pvalue)


@pytest.mark.parametrize(("sizes", "apart"), [*product(SIZES, [0.0, 1.0, 5.0])])
def test_the_probability_is_that_of_scipys_permutation_test(sizes, apart):
    before, after = groups(sizes, apart=apart)
    assert permutation_test(before, after).probability == pytest.approx(reference(before, after))


def flipped(scores: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """How many standard deviations, over all flips, the sums of flipped scores lie from 0."""
    return np.abs(flips @ scores) / np.sqrt((scores**2).sum())


@pytest.mark.parametrize("apart", [0.0, 0.3, 1.0])
def test_the_probability_of_pairs_is_the_share_of_flips_that_differ_as_much(apart):
    values = np.random.default_rng(8).normal(apart, 0.5, 7)
    sizes, flips = np.abs(values), np.array([*product((1, -1), repeat=7)])
    scores = stats.rankdata(sizes), np.minimum(sizes, np.median(sizes))
    largest = np.max([flipped(np.sign(values) * one, flips) for one in scores], axis=0)
    assert paired_test(list(values)).probability == pytest.approx((largest >= largest[0] - 1e-9).mean())


@pytest.mark.parametrize("sizes", SIZES)
def test_the_interval_holds_the_shifts_the_test_does_not_refuse(sizes):
    before, after = groups(sizes, seed=2)
    difference = permutation_test(before, after).difference()
    for bound, inwards in ((difference.low, 2 * RESOLUTION), (difference.high, -2 * RESOLUTION)):
        assert permutation_test(before, [value - bound - inwards for value in after]).probability >= 0.05
        assert permutation_test(before, [value - bound + inwards for value in after]).probability < 0.05


def test_so_it_does_for_pairs():
    differences = list(np.random.default_rng(4).normal(0.3, 1.0, 9))
    difference = paired_test(differences).difference()
    for bound, inwards in ((difference.low, 2 * RESOLUTION), (difference.high, -2 * RESOLUTION)):
        assert paired_test([value - bound - inwards for value in differences]).probability >= 0.05
        assert paired_test([value - bound + inwards for value in differences]).probability < 0.05


def test_the_difference_is_that_of_hodges_and_lehmann():
    before, after = groups((5, 6))
    pairs = [two - one for one, two in product(before, after)]
    assert permutation_test(before, after).difference().value == pytest.approx(median(pairs))


def test_no_probability_is_smaller_than_what_so_few_launches_can_show():
    for count, ways in ((4, 70), (5, 252), (6, 924)):
        assert permutation_test(*groups((count, count), apart=99.0)).probability == pytest.approx(2 / ways)
    for count in (6, 8):
        assert paired_test([1.0 + 0.01 * number for number in range(count)]).probability == pytest.approx(2 / 2**count)


@pytest.mark.parametrize(("paired", "needed"), [(False, 4), (True, 6)])
def test_fewer_launches_than_are_needed_show_nothing_and_have_no_interval(paired, needed):
    assert fewest_launches(paired) == needed
    for count in range(1, needed + 1):
        before, after = groups((count, count), apart=99.0)
        test = paired_test(after) if paired else permutation_test(before, after)
        assert test.enough == (count == needed) == (test.probability < 0.05)
        assert (test.difference().low is None) == (count < needed)


def test_equal_launches_differ_in_nothing():
    result = permutation_test([0.1] * 5, [0.1] * 5)
    assert (result.probability, result.difference().value) == (1.0, 0.0)
    assert result.difference().low <= 0.0 <= result.difference().high


@pytest.mark.parametrize("sizes", [(9, 9), (30, 20)])
def test_where_there_are_too_many_ways_some_are_drawn_and_always_the_same(sizes):
    before, after = groups(sizes, seed=3, apart=0.4)
    result = permutation_test(before, after)
    again = permutation_test(before, after)
    assert (result.probability, result.difference()) == (again.probability, again.difference())
    assert result.difference().low < result.difference().value < result.difference().high
    assert permutation_test(before, [value + 99 for value in after]).probability <= 2 / MOST_WAYS
    assert paired_test([99 + value for value in after * 3]).probability <= 2 / MOST_WAYS


def test_one_of_many_points_is_told_with_launches_that_would_not_do_for_as_many_single_tests():
    chance = np.random.default_rng(5)
    before, after = ([by_number(list(line)) for line in chance.normal(0, 0.01, (40, 5))] for _ in range(2))
    after[7] = {number: value + 0.3 for number, value in after[7].items()}
    tests = permutation_tests(before, after)
    assert [number for number, test in enumerate(tests) if test.adjusted < 0.05] == [7]
    assert 40 * tests[7].probability > 0.05


def test_an_adjusted_probability_is_never_below_that_of_the_point_alone_nor_out_of_order():
    chance = np.random.default_rng(6)
    before, after = ([by_number(list(line)) for line in chance.normal(0, 0.01, (12, 5))] for _ in range(2))
    del after[3][2], before[4][5]
    tests = permutation_tests(before, after)
    assert all(test.adjusted >= test.probability for test in tests)
    whole = [test for number, test in enumerate(tests) if number not in (3, 4)]
    ordered = sorted(whole, key=lambda test: test.probability)
    assert [test.adjusted for test in ordered] == sorted(test.adjusted for test in ordered)


def test_what_the_two_of_a_pair_share_does_not_matter():
    chance = np.random.default_rng(7)
    shared = chance.normal(0, 0.5, 8)
    before, after = shared + chance.normal(0, 0.01, 8), shared + 0.05 + chance.normal(0, 0.01, 8)
    assert paired_test(list(after - before)).probability < 0.05
    assert permutation_test(list(before), list(after)).probability > 0.5
