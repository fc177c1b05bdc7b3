import pytest

from scaling.analysis.laws import (
    amdahl,
    amdahl_seconds,
    efficiency,
    gustafson,
    gustafson_seconds,
    karp_flatt,
    marginal,
    sun_ni,
    usl,
    usl_seconds,
)
from tests.published import FX_40, Y_MP

CORES = [1.0, 2.0, 7.0, 64.0]


@pytest.mark.parametrize("cores", CORES)
def test_speedup_is_the_time_of_one_core_over_the_time_of_many(cores):
    assert amdahl(cores, 0.1) == pytest.approx(3.0 / amdahl_seconds(cores, 0.1, 3.0))
    assert usl(cores, 0.1, 0.01) == pytest.approx(3.0 / usl_seconds(cores, 0.1, 0.01, 3.0))
    assert gustafson(cores, 0.1) == pytest.approx(3.0 / gustafson_seconds(cores, 0.1, 3.0))


@pytest.mark.parametrize("cores", CORES)
def test_the_laws_are_cases_of_each_other(cores):
    assert usl(cores, 0.1, 0.0) == amdahl(cores, 0.1)
    assert sun_ni(cores, 0.1, 1.0) == pytest.approx(amdahl(cores, 0.1))
    assert sun_ni(cores, 0.1, cores) == pytest.approx(gustafson(cores, 0.1))
    assert efficiency(cores, 0.1, 0.01) == pytest.approx(usl(cores, 0.1, 0.01) / cores)


def test_karp_flatt_gives_amdahls_serial_fraction_back():
    assert karp_flatt(amdahl(12.0, 0.07), 12.0) == pytest.approx(0.07)
    assert karp_flatt(9.0, 8.0) < 0.0


def test_the_marginal_core_is_the_slope_of_the_speedup():
    step = 1e-6
    slope = (usl(9 + step, 0.05, 1e-3) - usl(9 - step, 0.05, 1e-3)) / (2 * step)
    assert marginal(9.0, 0.05, 1e-3) == pytest.approx(slope, rel=1e-8)


@pytest.mark.parametrize("table", [Y_MP, FX_40])
def test_karp_flatt_values_of_the_paper_lie_within_their_rounding(table):
    (_, one_core, _), *others = table
    for cores, seconds, printed in others:
        digits = 10.0 ** -max(len(str(each).partition(".")[2]) for each in (seconds,)) / 2
        ends = [
            karp_flatt((one_core + a * _rounding(one_core)) / (seconds + b * digits), cores)
            for a in (-1, 1)
            for b in (-1, 1)
        ]
        assert min(ends) - 0.0005 <= printed <= max(ends) + 0.0005


def _rounding(number: float) -> float:
    return 10.0 ** -len(str(number).partition(".")[2]) / 2
