from dataclasses import replace

import numpy as np
import pytest

from benchmarks.shared.launches import TO_16, Truth, blocked_series, series
from scaling.analysis.curves.observations import LEAST_NOISE, UNKNOWN_NOISE, measured
from scaling.analysis.estimates import Reach
from scaling.analysis.series import Observation, Series

TRUTH = Truth(0.1, grid=TO_16)
TIMES = np.log([TRUTH.true_seconds(count) for count in TO_16])


def without(whole, dropped):
    """The series without the launches at these indices of count and launch."""
    return replace(
        whole,
        observations=tuple(
            replace(
                one,
                launch_seconds=tuple(x for at, x in enumerate(one.launch_seconds) if (count, at) not in dropped),
                blocks=tuple(x for at, x in enumerate(one.blocks) if (count, at) not in dropped),
            )
            for count, one in enumerate(whole.observations)
        ),
    )


def grown(first, then):
    """A series whose counts were measured in five blocks at first and in five others later."""
    chance, made = np.random.default_rng(5), {}
    for number, counts in enumerate((first,) * 5 + (then,) * 5):
        block = np.exp(0.1 * chance.standard_normal())
        for cores in counts:
            launch = (TRUTH.true_seconds(cores) * block * np.exp(0.01 * chance.standard_normal()), str(number))
            made.setdefault(cores, []).append(launch)
    return Series(
        "grown",
        tuple(
            Observation(n, tuple(x for x, _ in launches), blocks=tuple(name for _, name in launches))
            for n, launches in made.items()
        ),
    )


def test_what_a_block_shares_is_not_noise_and_costs_degrees_of_freedom():
    counts = measured(blocked_series(TRUTH, 0.1, np.random.default_rng(1)))
    assert (counts.freedom, counts.blocks) == (16, 5)
    assert np.sqrt(counts.variances) == pytest.approx(0.02 / np.sqrt(5), rel=0.5)
    assert np.sqrt(counts.launch_variances) == pytest.approx(0.02, rel=0.5)


def test_counts_that_only_one_core_links_differ_by_the_noise_of_both_links():
    counts = measured(grown((1.0, 2.0, 4.0), (1.0, 8.0, 16.0)))
    noise = np.sqrt(counts.launch_variances)
    links = counts.covariance / np.outer(noise, noise)
    apart = links.diagonal()[:, None] + links.diagonal() - 2.0 * links
    assert (counts.freedom, counts.blocks) == (16, 10)
    assert apart[1, [2, 3, 4]] == pytest.approx([2 / 5, 4 / 5, 4 / 5], rel=0.1)
    assert measured(blocked_series(TRUTH, 0.1, np.random.default_rng(1))).covariance[0, 1:] == pytest.approx(0.0)


def test_the_variance_of_blocks_is_estimated():
    chance = np.random.default_rng(4)
    found = [measured(blocked_series(TRUTH, 0.05, chance)).block_variance for _ in range(100)]
    assert np.mean(found) == pytest.approx(0.05**2, rel=0.25)
    assert np.mean([measured(blocked_series(TRUTH, 0.0, chance)).block_variance for _ in range(100)]) < 0.01**2


def test_launches_missing_from_a_slow_block_do_not_make_their_count_fast():
    whole = blocked_series(replace(TRUTH, noise=1e-4), 0.3, np.random.default_rng(3))
    some = measured(without(whole, {(4, 0), (4, 1), (2, 3)}))
    assert some.logs - some.logs[0] == pytest.approx(TIMES - TIMES[0], abs=1e-3)


def test_launches_that_cannot_be_matched_have_no_blocks():
    few = Series("few", tuple(Observation(n, (1.0 / n, 1.1 / n), blocks=("1", "2")) for n in (1.0, 2.0, 4.0)))
    apart = [Observation(n, (1.0, 1.1, 1.2), blocks=tuple(f"{n} {each}" for each in range(3))) for n in (1.0, 2.0, 4.0)]
    later = grown((1.0, 2.0), (8.0, 16.0))
    for unmatched in (series(TRUTH, np.random.default_rng(1)), few, Series("apart", tuple(apart)), later):
        counts = measured(unmatched)
        assert (counts.blocks, counts.block_variance) == (1, 0.0)
        assert counts.freedom == sum(unmatched.launches) - len(unmatched.cores)


def test_a_noisy_count_has_a_larger_variance_and_quiet_ones_no_more_than_common():
    quiet, loud = (1.0, 1.001, 0.999, 1.0), (0.3, 0.36, 0.25, 0.3)
    counts = measured(Series("one", (Observation(1.0, quiet), Observation(2.0, quiet), Observation(4.0, loud))))
    assert counts.variances[2] > 1.5 * counts.variances[0] > 0.0


def test_a_count_with_one_launch_has_the_common_variance():
    five = (1.0, 1.1, 0.9, 1.05, 1.0)
    alone = measured(Series("one", (Observation(1.0, five), Observation(2.0, five), Observation(4.0, (0.3,)))))
    assert alone.launch_variances == pytest.approx([np.log(five).var(ddof=1)] * 3)


def test_one_launch_per_count_has_a_noise_that_is_only_guessed():
    counts = measured(Series("once", (Observation(1.0, (1.0,)), Observation(2.0, (0.5,)))))
    assert counts.freedom == 0
    assert counts.variances == pytest.approx([UNKNOWN_NOISE**2] * 2)


def test_launches_that_agree_to_the_last_digit_are_not_without_noise():
    counts = measured(Series("same", tuple(Observation(n, (1.0 / n,) * 5) for n in (1.0, 2.0, 4.0))))
    assert counts.variances == pytest.approx([LEAST_NOISE**2] * 3)


def test_what_others_may_have_taken_adds_to_a_count():
    made = series(TRUTH, np.random.default_rng(3))
    shifted = replace(made, observations=tuple(replace(one, reach=Reach(0.06)) for one in made.observations))
    plain, seen = measured(made), measured(shifted)
    assert (plain.shifts.tolist(), seen.shifts) == ([0.0] * 5, pytest.approx([0.06**2 / 3] * 5))
    assert seen.variances.tolist() == plain.variances.tolist()


def test_clocks_count_only_where_every_count_has_one():
    falling = replace(TRUTH, slowest_mhz=1850.0)
    clocked = series(falling, np.random.default_rng(3), clock=True)
    assert measured(clocked).stretch[[0, -1]] == pytest.approx([1.0, 2.0])
    some = replace(clocked, observations=(*clocked.observations[:-1], replace(clocked.observations[-1], mhz=None)))
    assert measured(some).stretch is None


def test_some_counts_can_be_kept():
    counts = measured(series(replace(TRUTH, slowest_mhz=3000.0), np.random.default_rng(3), clock=True))
    kept = counts.only(counts.cores < 16)
    assert kept.cores.tolist() == [1.0, 2.0, 4.0, 8.0]
    assert {len(kept.logs), len(kept.variances), len(kept.shifts), len(kept.launch_variances), len(kept.stretch)} == {4}
    assert kept.freedom == counts.freedom


def test_blocks_that_share_nothing_have_no_variance_beyond_the_noise_of_their_launches():
    chance = np.random.default_rng(4)
    found = np.array([measured(blocked_series(TRUTH, 0.0, chance)).block_variance for _ in range(100)])
    assert (found >= 0.0).all()
    assert np.median(found) < 1e-5
