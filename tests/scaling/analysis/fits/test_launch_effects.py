import numpy as np
import pytest

from benchmarks.shared.launches import Truth, blocked_series, series
from scaling.analysis.fits import launch_effects, observations
from scaling.analysis.fits.launch_effects import LEAST_DF
from scaling.analysis.fits.observations import counts
from scaling.analysis.fitting import fit
from scaling.analysis.series import Observation, Series

TRUTH = Truth(0.05, noise=0.01)


def fresh_counts(measured):
    """Counts as they are computed, not as they were remembered."""
    observations._counts.cache_clear()
    return counts(measured)


def without(measured, dropped):
    """The series without the launches at these indices of count and launch."""
    return Series(
        measured.name,
        tuple(
            Observation(
                point.cores,
                tuple(each for index, each in enumerate(point.launch_seconds) if (count, index) not in dropped),
                blocks=tuple(each for index, each in enumerate(point.blocks) if (count, index) not in dropped),
            )
            for count, point in enumerate(measured.observations)
        ),
    )


def test_complete_blocks_leave_the_means_as_they_are_and_cost_a_degree_of_freedom_each():
    measured = blocked_series(TRUTH, 0.1, np.random.default_rng(1))
    seen = counts(measured)
    assert seen.means == pytest.approx([np.log(point.launch_seconds).mean() for point in measured.observations])
    assert seen.launches == pytest.approx([5.0] * 6)
    assert (seen.pure_df, seen.observed) == (20, 26)


def test_what_a_block_shares_does_not_change_the_law():
    measured = blocked_series(TRUTH, 0.0, np.random.default_rng(1))
    slow = np.exp(np.random.default_rng(2).normal(0.0, 0.2, 5))
    shifted = Series(
        "shifted",
        tuple(
            Observation(point.cores, tuple(slow * point.launch_seconds), blocks=point.blocks)
            for point in measured.observations
        ),
    )
    even, uneven = fit(measured), fit(shifted)
    for name in ("value", "low", "high"):
        one, other = (getattr(fitted.averaged.serial_fraction, name) for fitted in (even, uneven))
        assert one == pytest.approx(other, rel=1e-4)
    assert uneven.averaged.rate_at_1.half_width > 5 * even.averaged.rate_at_1.half_width


def test_a_launch_missing_from_a_slow_block_does_not_make_its_count_fast():
    measured = blocked_series(Truth(0.05, noise=1e-4), 0.3, np.random.default_rng(3))
    full, some = counts(measured), counts(without(measured, {(5, 0), (5, 1), (2, 3)}))
    assert np.diff(some.means) == pytest.approx(np.diff(full.means), abs=1e-3)
    assert 1.5 < some.launches[5] < 3.3


def test_the_variance_of_blocks_is_estimated():
    chance = np.random.default_rng(4)
    variances = [
        float(seen.effects.variance(np.sqrt(seen.scatter.sum() / seen.pure_df)))
        for seen in (counts(blocked_series(TRUTH, 0.05, chance)) for _ in range(100))
    ]
    assert np.mean(variances) == pytest.approx(0.05**2, rel=0.25)


def test_launches_that_cannot_be_matched_have_no_effects():
    assert counts(series(TRUTH, np.random.default_rng(1))).effects is None
    few = Series("few", tuple(Observation(n, (1.0 / n, 1.1 / n), blocks=("1", "2")) for n in (1.0, 2.0, 4.0)))
    assert counts(few).pure_df < LEAST_DF
    assert counts(few).effects is None
    apart = [Observation(n, (1.0, 1.1, 1.2), blocks=tuple(f"{n} {each}" for each in range(3))) for n in (1.0, 2.0, 4.0)]
    assert counts(Series("apart", tuple(apart))).effects is None


def test_blocks_of_very_many_counts_are_done_without(monkeypatch):
    measured = blocked_series(TRUTH, 0.05, np.random.default_rng(3))
    assert fresh_counts(measured).effects is not None
    monkeypatch.setattr(launch_effects, "MOST_COUNTS", len(measured.observations) - 1)
    assert fresh_counts(measured).effects is None
