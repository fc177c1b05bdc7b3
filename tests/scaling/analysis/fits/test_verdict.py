import numpy as np
import pytest

from benchmarks.shared.launches import Truth, series
from scaling.analysis.fits.verdict import (
    ClockUnknown,
    OneCoreNotMeasured,
    OneLaunchPerCount,
    Verdict,
)
from scaling.analysis.fitting import fit
from scaling.analysis.curves.laws import AMDAHL, USL
from scaling.analysis.series import Observation, Series
from tests.published import CISCO, FX_40, NO_SINGLE, RAYTRACER, Y_MP, rates, times


@pytest.mark.parametrize(
    ("measured", "law", "verdict"),
    [
        (rates("rays", RAYTRACER), AMDAHL, Verdict.OK),
        (rates("cisco", CISCO), USL, Verdict.OK),
        (times("y-mp", Y_MP), AMDAHL, Verdict.OK),
        (times("fx/40", FX_40), USL, Verdict.NOT_IDENTIFIABLE),
        (rates("no single", NO_SINGLE), AMDAHL, Verdict.NO_LAW_FITS),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_published_curves_get_their_law_and_verdict(measured, law, verdict):
    fitted = fit(measured)
    assert (fitted.choice.law, fitted.verdict) == (law, verdict)
    assert OneLaunchPerCount() in fitted.cautions


def test_without_one_core_the_fit_goes_on_and_says_so():
    fitted = fit(rates("no single", NO_SINGLE))
    assert OneCoreNotMeasured(2.0) in fitted.cautions
    assert fitted.karp_flatt.values == ()


@pytest.mark.parametrize(
    "points",
    [
        [(n, min(n, 8)) for n in (1, 2, 4, 6, 8, 10, 12, 16, 24, 32)],
        [(n, min(n / (1 + 0.02 * (n - 1)), 5.5 + 0.02 * n)) for n in (1, 2, 4, 6, 8, 12, 16, 20, 24)],
        [(n, n / (1 + 0.02 * (n - 1)) * (0.75 if n > 12 else 1)) for n in (1, 2, 4, 8, 12, 16, 20, 24, 28, 32)],
    ],
    ids=["hard saturation", "rise, kink, flat", "structural break"],
)
@pytest.mark.parametrize("launches", [1, 5])
def test_curves_no_law_describes_are_called_so(points, launches):
    chance = np.random.default_rng(2)
    noisy = Series(
        "curve",
        tuple(Observation(float(n), tuple(np.exp(chance.normal(0, 0.01, launches)) / rate)) for n, rate in points),
    )
    assert fit(noisy).verdict is Verdict.NO_LAW_FITS


@pytest.mark.parametrize(
    "points", [[(1, 1), (2, 2.2), (4, 4.7), (8, 9.8), (16, 19)], [(1, 1), (2, 2.15), (4, 4.5), (8, 8.4), (16, 14)]]
)
def test_more_than_linear_is_called_superlinear_and_not_clipped_in_silence(points):
    fitted = fit(rates("fast", points))
    assert fitted.verdict is Verdict.SUPERLINEAR
    assert [reason.code for reason in fitted.reasons] == ["more-than-its-share"]


def test_superlinear_launches_are_distinguished_from_noise():
    chance = np.random.default_rng(2)
    fast = Truth(0.0, noise=0.01)
    measured = series(fast, chance)
    slow_start = Observation(1.0, tuple(1.15 * seconds for seconds in measured.observations[0].launch_seconds))
    assert fit(Series("cold", (slow_start, *measured.observations[1:]))).verdict is Verdict.SUPERLINEAR


def test_too_much_noise_is_not_identifiable():
    chance = np.random.default_rng(2)
    verdicts = {fit(series(Truth(0.002, noise=0.03, grid=(1, 2, 4)), chance)).verdict for _ in range(20)}
    assert verdicts == {Verdict.NOT_IDENTIFIABLE}


def test_a_clock_nobody_measured_is_cautioned_about():
    fitted = fit(series(Truth(0.02, slowest_mhz=2800.0), np.random.default_rng(2)))
    assert fitted.law(AMDAHL).figures.contention.value > 0.025
    assert ClockUnknown() in fitted.cautions
