import pytest

from scaling.analysis.estimates import Estimate
from scaling.analysis.series import Observation, Series
from scaling.analysis.sizing.reached import at_least, rate_reached, speedup_reached

MEASURED = Series(
    "past its peak", (Observation(1, (4.0, 9.0)), Observation(2, (2.0,)), Observation(4, (3.0,))), work=8.0
)


def test_the_fastest_count_is_what_was_reached():
    assert rate_reached(MEASURED) == pytest.approx(4.0)
    assert speedup_reached(MEASURED, MEASURED) == pytest.approx(3.0)


def test_without_one_core_with_one_thread_no_speedup_was_reached():
    threads = Series("siblings", (Observation(1, (4.0,), siblings=1.0), Observation(2, (2.0,))))
    assert speedup_reached(MEASURED, threads) == 0.0


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (Estimate(2.0, 1.5, 2.5), Estimate(3.0, 1.5, 3.0)),
        (Estimate(2.0, 1.5, 4.0), Estimate(3.0, 1.5, 4.0)),
        (Estimate(5.0, 1.5, 9.0), Estimate(5.0, 1.5, 9.0)),
        (Estimate(2.0), Estimate(3.0)),
    ],
)
def test_a_limit_is_not_below_what_was_reached_though_its_low_end_may_be(limit, expected):
    assert at_least(limit, 3.0) == expected
