from dataclasses import replace
from math import inf

import numpy as np
import pytest

from benchmarks.shared.launches import Truth, series
from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.fits.verdict import (
    ClockUnknown,
    SmtYieldUnknown,
    TooFewCounts,
    Verdict,
)
from scaling.analysis.fitting import fit
from scaling.analysis.curves.laws import AMDAHL, GUSTAFSON, USL
from scaling.analysis.series import Observation, Series, series_of, threads_on
from scaling.errors import FitError
from scaling.results.rows import launch_of
from scaling.study.planning import plan
from tests.published import CARPENTRY, CISCO, rates, times


def swept(cores, serial, toml=""):
    """What a sweep on a pretend machine of so many cores leaves behind."""
    runs = plan(study(f'cores = "doubling"\nlaunches = 5\n{toml}'), machine(cores)).runs
    return series_of(map(launch_of, AmdahlMachine(serial, noise=1e-9).execute(runs)))


def curve(name, points, times=1):
    return Series(name, tuple(Observation(float(n), (1.0 / rate,) * times) for n, rate in points))


def test_a_sweep_on_a_pretend_machine_ends_in_the_law_it_was_made_from():
    (measured,) = swept(32, serial=0.07)
    fitted = fit(measured)
    assert (fitted.choice.law, fitted.verdict) == (AMDAHL, Verdict.OK)
    assert fitted.chosen.figures.contention.value == pytest.approx(0.07, abs=1e-6)
    assert fitted.chosen.figures.speedup_limit.value == pytest.approx(1 / 0.07, rel=1e-5)
    assert fitted.chosen.figures.rate_at_1.value == pytest.approx(1.0, rel=1e-6)
    assert fitted.held_out.inside


def test_weak_scaling_ends_in_gustafsons_law():
    (measured,) = swept(32, serial=0.07, toml='scale = "weak"')
    fitted = fit(measured)
    assert ([law.law for law in fitted.laws], fitted.verdict) == ([GUSTAFSON], Verdict.OK)
    assert fitted.serial_fraction.value == pytest.approx(0.07, abs=1e-6)
    assert fitted.averaged.speedup_limit.value == inf
    assert fitted.averaged.rate_at_1.value == pytest.approx(1.0, rel=1e-6)
    assert fitted.held_out.inside


def test_gustafsons_law_is_recovered_from_its_own_data_as_often_as_is_said():
    chance, truth = np.random.default_rng(3), Truth(0.15, scale="weak", growth=3.0)
    fits = [fit(series(truth, chance)) for _ in range(40)]
    assert np.mean([one.serial_fraction.value for one in fits]) == pytest.approx(0.15, abs=0.005)
    assert sum(one.serial_fraction.contains(0.15) for one in fits) >= 35
    assert {one.verdict for one in fits} == {Verdict.OK}


@pytest.mark.parametrize("governs", ["parallel part", "everything"])
def test_a_measured_clock_is_taken_out_of_a_scaled_speedup(governs):
    truth = Truth(0.1, noise=0.005, slowest_mhz=2800.0, clock_governs=governs, scale="weak")
    fitted = fit(series(truth, np.random.default_rng(2), clock=True))
    assert fitted.clock.governs != "nothing"  # which part it slows hardly shows where nearly all of it is parallel
    assert fitted.serial_fraction.value == pytest.approx(0.1, abs=0.01)


def test_amdahls_data_do_not_fit_gustafsons_law():
    saturated = series(Truth(0.15, noise=0.005), np.random.default_rng(2))
    assert fit(replace(saturated, key=Truth(0.15, scale="weak").key)).verdict is Verdict.NO_LAW_FITS


@pytest.mark.parametrize(("scale", "law"), [("weak", AMDAHL), ("strong", GUSTAFSON)])
def test_a_law_of_the_other_kind_of_scaling_is_refused(scale, law):
    measured = series(Truth(0.05, scale=scale), np.random.default_rng(2))
    with pytest.raises(FitError, match=f"was measured with {scale} scaling, and .* is of .* scaling; ask for"):
        fit(measured, (law,))


def test_two_cores_of_weak_scaling_have_the_fraction_of_gustafsons_law():
    (measured,) = swept(2, serial=0.1, toml='scale = "weak"')
    assert fit(measured).serial_fraction.value == pytest.approx(0.1, abs=1e-6)


def test_two_cores_cannot_tell_a_law_but_have_their_karp_flatt_value():
    (measured,) = swept(2, serial=0.1)
    fitted = fit(measured)
    assert fitted.verdict is Verdict.NOT_IDENTIFIABLE
    assert fitted.reasons[0] == TooFewCounts(2)
    (value,) = fitted.karp_flatt.values
    assert (value.cores, value.fraction.value) == (2.0, pytest.approx(0.1, abs=1e-6))
    assert (value.fraction.low, value.fraction.high) == pytest.approx((0.1, 0.1), abs=1e-7)


def test_the_known_serial_fraction_is_found_though_three_counts_are_too_few_to_trust():
    fitted = fit(times("carpentry", CARPENTRY))
    assert fitted.chosen.figures.contention.value == pytest.approx(0.150, abs=1e-3)
    assert fitted.verdict is Verdict.NOT_IDENTIFIABLE


def test_perfect_scaling_has_a_one_sided_limit_and_no_law_beyond_what_was_measured():
    (measured,) = swept(16, serial=0.0)
    fitted = fit(measured)
    assert fitted.chosen.figures.contention.on_bound
    assert fitted.verdict is Verdict.NOT_IDENTIFIABLE


def test_second_threads_have_a_yield_where_two_counts_share_cores():
    truth = Truth(0.02, grid=(1, 2, 4, 8, 12, 16, 20, 24, 28, 32), physical=16, smt_yield=0.25)
    fitted = fit(series(truth, np.random.default_rng(2)))
    (smt_yield,) = fitted.chosen.figures.smt_yields
    yielded = smt_yield.per_thread
    assert smt_yield.of_core is None  # 20 threads on 16 cores are no whole number of threads per core
    assert yielded.value == pytest.approx(0.25, abs=0.05)
    assert yielded.low < 0.25 < yielded.high
    assert fitted.chosen.figures.contention.value == pytest.approx(0.02, rel=0.1)


def test_a_yield_needs_two_counts_that_share_cores():
    truth = Truth(0.02, grid=(1, 2, 4, 8, 16, 32), physical=16, smt_yield=0.25)
    fitted = fit(series(truth, np.random.default_rng(2)))
    assert fitted.chosen.figures.smt_yields == ()
    assert SmtYieldUnknown() in fitted.cautions
    assert max(fitted.series.cores) == 16


def test_threads_counted_as_cores_make_the_serial_fraction_too_large():
    truth = Truth(0.02, noise=1e-6, grid=(1, 2, 4, 8, 16, 20, 24, 28, 32), physical=16, smt_yield=0.25)
    measured = series(truth, np.random.default_rng(2))
    naive = Series("naive", tuple(Observation(o.cores + o.siblings, o.launch_seconds) for o in measured.observations))
    assert fit(naive, (AMDAHL,)).chosen.figures.contention.value > 0.03
    assert fit(threads_on(naive, 16), (AMDAHL,)).chosen.figures.contention.value == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize("governs", ["parallel part", "everything"])
def test_a_measured_clock_is_taken_out_of_the_serial_fraction(governs):
    truth = Truth(0.02, noise=0.005, slowest_mhz=2800.0, clock_governs=governs)
    fitted = fit(series(truth, np.random.default_rng(2), clock=True))
    assert fitted.clock.governs == governs
    assert fitted.law(AMDAHL).figures.contention.value == pytest.approx(0.02, rel=0.05)
    assert ClockUnknown() not in fitted.cautions


def test_one_law_can_be_asked_for():
    fitted = fit(rates("cisco", CISCO), (AMDAHL,))
    assert [law.law for law in fitted.laws] == [AMDAHL]
    with pytest.raises(FitError, match="needs three core counts"):
        fit(curve("two", [(1, 1), (2, 1.9)], times=3), (USL,))


def test_one_count_is_refused():
    with pytest.raises(FitError, match=r"'one' was measured at one core count only \(4\)"):
        fit(curve("one", [(4, 3)], times=5))


def test_the_same_series_gives_the_same_fit():
    measured = series(Truth(0.05), np.random.default_rng(2))
    assert fit(measured).chosen.figures == fit(measured).chosen.figures


def test_many_launches_are_no_burden():
    chance = np.random.default_rng(2)
    measured = series(Truth(0.05, launches=20_000), chance)
    fitted = fit(measured)
    assert fitted.chosen.figures.contention.value == pytest.approx(0.05, abs=2e-4)
