import numpy as np
import pytest

from benchmarks.shared.launches import Truth, series
from scaling.analysis.fits.verdict import UncertainPeak, Verdict
from scaling.analysis.fitting import fit
from scaling.analysis.curves.laws import AMDAHL, USL


def test_figures_are_averages_by_akaike_weight():
    fitted = fit(series(Truth(0.05, 1e-4), np.random.default_rng(2)))
    laws = [(fitted.choice.weight(law), fitted.law(law).fitted) for law in (AMDAHL, USL)]
    assert fitted.averaged.serial_fraction.value == pytest.approx(sum(w * law.contention for w, law in laws))
    low, high = fitted.averaged.serial_fraction.low, fitted.averaged.serial_fraction.high
    assert low < min(law.contention for _, law in laws) < high


def test_one_law_has_its_own_figures():
    fitted = fit(series(Truth(0.05), np.random.default_rng(2)), (AMDAHL,))
    assert fitted.averaged.serial_fraction == fitted.chosen.figures.contention
    assert fitted.averaged.speedup_limit == fitted.chosen.figures.speedup_limit
    assert fitted.averaged.peak_cores is None


def test_a_law_that_is_certain_has_nearly_its_own_interval():
    fitted = fit(series(Truth(0.05, 2e-3), np.random.default_rng(2)))
    own, averaged = fitted.law(USL).figures.contention, fitted.averaged.serial_fraction
    assert fitted.choice.usl_weight > 0.999
    assert (averaged.low, averaged.high) == pytest.approx((own.low, own.high), rel=0.02)
    assert fitted.verdict is Verdict.OK


def test_a_peak_is_not_ok_while_the_law_without_one_is_possible():
    chance = np.random.default_rng(5)
    fits = [fit(series(Truth(0.05, 1.5e-4), chance)) for _ in range(12)]
    doubtful = [each for each in fits if each.choice.law == USL and each.choice.amdahl_weight > 0.025]
    assert doubtful
    for each in doubtful:
        assert each.verdict is Verdict.NOT_IDENTIFIABLE
        assert UncertainPeak(each.choice.amdahl_weight) in each.reasons
