from pathlib import Path

import pytest

from benchmarks.step_statistics import STATISTICS, deviations

CALIBRATED = Path(__file__).parents[2] / "docs" / "examples" / "calibrated-sixteen"


@pytest.mark.parametrize("name", STATISTICS)
def test_every_count_of_a_series_has_a_deviation(name):
    found = list(deviations(CALIBRATED, STATISTICS[name]))
    assert len(found) == 4
    assert all(0 < one < 0.1 for one in found)
