from math import inf

import numpy as np
import pytest

from scaling.analysis.curves.laws import (
    AMDAHL,
    GUSTAFSON,
    LAWS,
    USL,
    contention_slope,
    karp_flatt,
    karp_flatt_of_time,
    laws_by_name,
    relative_time,
    scaled_speedup,
    serial_fraction,
    speedup,
)
from scaling.errors import FitError
from tests.published import FX_40, Y_MP

CORES = [1.0, 2.0, 7.0, 64.0]


@pytest.mark.parametrize("cores", CORES)
def test_speedup_is_the_time_of_one_core_over_the_time_of_many(cores):
    assert speedup(cores, 0.1) == pytest.approx(1.0 / relative_time(cores, 0.1))
    assert speedup(cores, 0.1, 0.01) == pytest.approx(1.0 / relative_time(cores, 0.1, 0.01))


def test_the_columns_of_a_law_add_up_to_its_time():
    cores = np.array(CORES)
    shared, serial, growing = USL.columns(1.0 / cores, cores)
    assert 0.9 * shared + 0.1 * serial + 0.01 * growing == pytest.approx(relative_time(cores, 0.1, 0.01))
    assert len(AMDAHL.columns(1.0 / cores, cores)) == AMDAHL.least_counts == 2


def test_the_columns_of_gustafsons_law_add_up_to_its_scaled_speedup():
    cores = np.array(CORES)
    shared, serial = GUSTAFSON.columns(1.0 / cores, cores)
    assert 0.9 * shared + 0.1 * serial == pytest.approx(scaled_speedup(cores, 0.1))
    assert relative_time(cores, 0.1, scale="weak") == pytest.approx(1.0 / scaled_speedup(cores, 0.1))
    assert scaled_speedup(64.0, 0.1) == pytest.approx(64.0 - 0.1 * 63.0)  # as Gustafson prints it, N + (1 - N) s


def test_a_slower_clock_slows_what_cores_share_under_gustafsons_law():
    assert relative_time(8.0, 0.1, stretch=2.0, scale="weak") == pytest.approx(1.0 / scaled_speedup(4.0, 0.1))


@pytest.mark.parametrize("scale", ["strong", "weak"])
def test_the_slope_in_contention_is_the_derivative_of_the_log_of_time(scale):
    cores, stretch, step = np.array([2.0, 7.0, 64.0]), 1.2, 1e-6
    above, below = (relative_time(cores, 0.1 + change, 0.0, stretch, scale) for change in (step, -step))
    time = relative_time(cores, 0.1, 0.0, stretch, scale)
    derivative = (np.log(above) - np.log(below)) / (2 * step)
    assert contention_slope(cores, stretch, time, scale) == pytest.approx(derivative, rel=1e-6)


def test_every_law_is_known_by_its_name():
    assert [laws_by_name(law.name) for law in LAWS] == [(law,) for law in LAWS]
    assert laws_by_name("best") == LAWS
    with pytest.raises(FitError, match="no law 'moore'; there are best, amdahl, usl, gustafson"):
        laws_by_name("moore")


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


def test_a_program_that_took_no_time_at_all_has_a_serial_fraction_still():
    assert karp_flatt_of_time(0.0, 2.0) == -1.0
