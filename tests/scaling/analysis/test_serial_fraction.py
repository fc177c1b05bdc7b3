from dataclasses import replace
from math import inf

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.curves.fit import fit
from scaling.analysis.curves.laws import speedup
from scaling.analysis.serial_fraction import (
    StatedTruth,
    combine,
    expected_serial_fraction,
    karp_flatt,
    scaled_speedup,
    serial_fraction,
)
from scaling.analysis.series import Observation, Series, SeriesKey, series_of
from scaling.results.rows import launch_of
from scaling.study.planning import plan
from tests.published import FX_40, Y_MP

TRUTH = StatedTruth(0.1, 0.0)


@pytest.mark.parametrize(("law", "scale"), [(speedup, "strong"), (scaled_speedup, "weak")])
def test_the_serial_fraction_of_a_speedup_gives_that_of_the_law_back(law, scale):
    assert serial_fraction(law(12.0, 0.07), 12.0, scale) == pytest.approx(0.07)
    assert serial_fraction(12.5, 12.0, scale) < 0.0


def test_karp_flatt_gives_amdahls_serial_fraction_back():
    assert karp_flatt(speedup(12.0, 0.07), 12.0) == pytest.approx(0.07)
    assert karp_flatt(9.0, 8.0) < 0.0


@pytest.mark.parametrize("table", [Y_MP, FX_40])
def test_karp_flatt_values_of_the_paper_lie_within_their_rounding(table):
    (_, one_core, _), *others = table
    for cores, seconds, printed in others:
        digits = 10.0 ** -max(len(str(value).partition(".")[2]) for value in (seconds,)) / 2
        ends = [
            karp_flatt((one_core + a * _rounding(one_core)) / (seconds + b * digits), cores)
            for a in (-1, 1)
            for b in (-1, 1)
        ]
        assert min(ends) - 0.0005 <= printed <= max(ends) + 0.0005


def _rounding(number: float) -> float:
    return 10.0 ** -len(str(number).partition(".")[2]) / 2


def test_the_ends_of_absurd_intervals_are_without_limit():
    assert speedup(2.0, -1.0) == inf
    assert karp_flatt(0.0, 2.0) == inf


def stated_series(*truths, **key):
    """Launches of Amdahl's law with a serial fraction of 0.1 on 1, 2, … cores, each count with a truth."""
    seconds = [[(0.1 + 0.9 / cores) * noise for noise in (0.999, 1.0, 1.001)] for cores in range(1, len(truths) + 1)]
    observations = (
        Observation(cores, tuple(times), truth=truth)
        for cores, (times, truth) in enumerate(zip(seconds, truths, strict=True), 1)
    )
    return Series("one", tuple(observations), key=SeriesKey(**key))


def test_launches_that_agree_state_one_truth_with_the_least_overhead():
    assert combine([StatedTruth(0.1, seconds) for seconds in (2.0, 9.0, 1.0)]) == StatedTruth(0.1, 1.0)


@pytest.mark.parametrize("stated", [[], [TRUTH, None], [TRUTH, StatedTruth(0.2, 0.0)]])
def test_launches_that_do_not_agree_state_none(stated):
    assert combine(stated) is None


def test_without_overhead_the_serial_fraction_is_to_be_found_as_it_is():
    assert expected_serial_fraction(0.5, TRUTH, 16, TRUTH) == pytest.approx(0.1)


def test_under_weak_scaling_it_is_that_of_gustafsons_law_with_the_overhead_of_a_step():
    assert expected_serial_fraction(0.5, TRUTH, 16, TRUTH, "weak") == pytest.approx(0.1)
    slower = expected_serial_fraction(0.5, TRUTH, 16, StatedTruth(0.1, 0.01), "weak")
    assert slower == pytest.approx((16 - 16 * 0.5 / (16 * 0.5 / (0.1 + 0.9 * 16) + 0.01)) / 15)


def test_the_same_overhead_on_any_number_of_cores_is_serial_work():
    overhead = StatedTruth(0.1, 0.1)
    assert expected_serial_fraction(1.1, overhead, 16, overhead) == pytest.approx((0.1 + 0.1) / 1.1)


def test_overhead_of_many_cores_adds_to_the_serial_fraction():
    assert expected_serial_fraction(1.0, TRUTH, 2, StatedTruth(0.1, 0.01)) == pytest.approx(0.1 + 0.01 / 0.5)


@pytest.mark.parametrize(("serial", "inside"), [(0.1, True), (0.15, False)])
def test_a_fit_says_whether_the_stated_truth_is_inside(serial, inside):
    check = fit(stated_series(*[StatedTruth(serial, 0.0)] * 5)).truth
    assert check.serial_fraction == pytest.approx(serial)
    assert check.inside is inside


def test_one_launch_a_count_says_it_too_by_a_wide_interval():
    one_each = Series("one", (Observation(1.0, (1.0,), truth=TRUTH), Observation(2.0, (0.55,), truth=TRUTH)))
    assert fit(one_each).truth.inside is True


@pytest.mark.parametrize(
    "series",
    [
        stated_series(TRUTH, TRUTH, None),
        stated_series(TRUTH),
        stated_series(TRUTH, TRUTH, smt=2),
        Series("without one core", stated_series(TRUTH, TRUTH, TRUTH).observations[1:]),
    ],
)
def test_a_series_without_a_whole_truth_states_none(series):
    assert series.expected_serial_fraction is None


def test_series_of_launches_keep_what_their_workload_states():
    rows = AmdahlMachine().execute(plan(study('cores = "doubling"\nlaunches = 1'), machine(4)).runs)
    launches = [replace(launch_of(row), truth=TRUTH) for row in rows]
    (series,) = series_of(launches)
    assert {observation.truth for observation in series.observations} == {TRUTH}
    assert series.expected_serial_fraction == pytest.approx(0.1)
