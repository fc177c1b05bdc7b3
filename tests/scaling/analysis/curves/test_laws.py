import numpy as np
import pytest

from scaling.analysis.curves.laws import OVERHEADS, Law, relative_time, speedup
from scaling.analysis.serial_fraction import (
    scaled_speedup,
)

CORES = [1.0, 2.0, 7.0, 64.0]


@pytest.mark.parametrize("cores", CORES)
def test_speedup_is_the_time_of_one_core_over_the_time_of_many(cores):
    assert speedup(cores, 0.1) == pytest.approx(1.0 / relative_time(cores, 0.1))
    assert speedup(cores, 0.1, 0.01) == pytest.approx(1.0 / relative_time(cores, 0.1, 0.01))


def test_amdahls_law_is_the_universal_one_without_coherency():
    assert relative_time(16.0, 0.1) == pytest.approx(0.1 + 0.9 / 16)
    assert relative_time(16.0, 0.1, 0.01) == pytest.approx(0.1 + 0.9 / 16 + 0.15)


@pytest.mark.parametrize("overhead", OVERHEADS)
def test_an_overhead_is_none_on_one_core_and_says_where_its_law_takes_least(overhead):
    def time(cores):
        return relative_time(cores, 0.1, 0.001, overhead=overhead.at(cores))

    cores, least = overhead.least(0.1, 0.001)
    assert (overhead.at(1.0), time(cores)) == (0.0, pytest.approx(least))
    assert min(time(0.9 * cores), time(1.1 * cores)) > least


def test_one_of_the_overheads_is_the_law_before_anything_is_measured():
    assert sum(overhead.share for overhead in OVERHEADS) == pytest.approx(1.0)


def test_gustafsons_law_is_a_scaled_speedup():
    cores = np.array(CORES)
    assert relative_time(cores, 0.1, scale="weak") == pytest.approx(1.0 / scaled_speedup(cores, 0.1))
    assert scaled_speedup(64.0, 0.1) == pytest.approx(64.0 - 0.1 * 63.0)  # as Gustafson prints it, N + (1 - N) s


def test_a_slower_clock_slows_what_cores_share_under_gustafsons_law():
    assert relative_time(8.0, 0.1, stretch=2.0, scale="weak") == pytest.approx(1.0 / scaled_speedup(4.0, 0.1))
    assert relative_time(8.0, 0.1, stretch=2.0) == pytest.approx(0.1 + 0.9 * 2.0 / 8)


def test_laws_have_stable_codes():
    assert [law.value for law in Law] == ["amdahl", "usl", "gustafson"]
    assert all(law.words for law in Law)
