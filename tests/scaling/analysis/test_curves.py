import numpy as np
import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.curves import Curve, curve_counts, launch_curve, predicted_speedup, speedup_curve
from scaling.analysis.fitting import fit
from scaling.analysis.series import series_of
from scaling.analysis.sizing.levels import level_laws
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.results.rows import launch_of
from scaling.study.planning import plan

SERIAL = 0.1


@pytest.fixture(scope="module")
def sweep():
    """A fit of a pretend sweep on 1 to 16 cores, and its measured one core."""
    runs = plan(study('cores = "doubling"\nlaunches = 5'), machine(16)).runs
    launches = [launch_of(row) for row in AmdahlMachine(SERIAL, noise=1e-3).execute(runs)]
    (series,) = series_of(launches)
    return fit(series), speedups(summarize(launches))[0]


def amdahl(cores):
    return 1 / (SERIAL + (1 - SERIAL) / cores)


def test_the_measured_and_the_extrapolated_part_of_a_curve_meet():
    measured, beyond = Curve(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.8, 3.0])).split(2.0)
    assert (list(measured.cores), list(beyond.cores)) == ([1.0, 2.0], [2.0, 4.0])


def test_efficiency_is_speedup_per_core_with_its_band():
    cores = np.array([1.0, 2.0, 4.0])
    curve = Curve(cores, cores, 0.5 * cores, 2.0 * cores).over_cores()
    assert (list(curve.middle), list(curve.low), list(curve.high)) == ([1.0] * 3, [0.5] * 3, [2.0] * 3)


def test_counts_of_a_curve_include_the_fewest_and_the_most_measured_and_the_farthest(sweep):
    fitted, _ = sweep
    counts = curve_counts(fitted, 32.0)
    assert (counts[0], counts[-1]) == pytest.approx((1.0, 32.0))
    assert np.isclose(counts, fitted.most_cores).sum() == 1
    assert curve_counts(fitted, 8.0)[-1] == pytest.approx(16.0)


def test_a_speedup_curve_is_the_law_and_its_band_holds_it(sweep):
    fitted, one_core = sweep
    curve = speedup_curve(fitted, fitted.chosen, one_core, 32.0, band=True)
    assert curve.middle == pytest.approx(amdahl(curve.cores), rel=0.01)
    assert (curve.low <= curve.middle).all()
    assert (curve.middle <= curve.high).all()
    assert speedup_curve(fitted, fitted.chosen, one_core, 32.0, band=False).low is None


def test_without_a_measured_one_core_there_is_no_speedup(sweep):
    fitted, _ = sweep
    assert speedup_curve(fitted, fitted.chosen, None, 32.0, band=True) is None
    assert predicted_speedup(fitted, None) is None


def test_the_largest_count_is_predicted_from_the_smaller_ones(sweep):
    predicted = predicted_speedup(*sweep)
    assert predicted.value == pytest.approx(amdahl(16), rel=0.02)
    assert predicted.low < predicted.value < predicted.high


def test_quantiles_of_a_new_launch_enclose_its_median(sweep):
    fitted, _ = sweep
    (law,) = level_laws(fitted, 400)
    curve = launch_curve(law, 32.0, 0.95)
    assert (curve.low < curve.middle).all()
    assert (curve.middle < curve.high).all()
    assert curve.middle / curve.middle[0] == pytest.approx(amdahl(curve.cores), rel=0.02)
