from dataclasses import replace

import pytest

from scaling.analysis import rules
from scaling.analysis.roofline import Ceilings, StepCounts, ceilings_of, roofline_points
from scaling.analysis.rules import Doubt
from scaling.analysis.summary import Launch, summarize
from tests.traced import point

COUNTS = StepCounts(1000, 4000, flops_per_item=2e9, traffic_bytes_per_item=1e7, traffic_bytes_per_step=4e7)
NET = {("net", "small", "infer"): COUNTS}


def launches(workload: str, seconds: float, items: int, cores: int = 1, mode: str = "infer") -> list[Launch]:
    where = replace(point(workload, mode, cores), size="small")
    return [Launch(where, number, seconds * (1 + 0.001 * number), items) for number in range(-1, 2)]


def ceilings():
    made = [*launches("matmul", 0.5, 50), *launches("stream", 0.1, 1000), *launches("matmul", 0.25, 50, cores=2)]
    return ceilings_of(summarize(made))


def test_ceilings_are_gigaflops_and_megabytes_a_second_by_cores():
    by_cores = ceilings()
    assert by_cores[1].flops_per_second == pytest.approx(100e9, rel=1e-3)
    assert by_cores[1].bytes_per_second == pytest.approx(10e9, rel=1e-3)
    assert by_cores[1].ridge == pytest.approx(10, rel=1e-3)
    assert by_cores[2].flops_per_second == pytest.approx(200e9, rel=1e-3)
    assert by_cores[2].bytes_per_second is None
    assert by_cores[2].ridge is None


def test_a_ceiling_whose_launches_were_disturbed_is_doubtful():
    stolen = [replace(launch, doubts=(Doubt(rules.STEAL, 0.5),)) for launch in launches("matmul", 0.5, 50)]
    disturbed = ceilings_of(summarize([*stolen, *launches("stream", 0.1, 1000)]))
    assert disturbed[1].doubtful == ("matmul",)
    assert ceilings()[1].doubtful == ()


@pytest.mark.parametrize(("intensity", "roof"), [(1.0, 10e9), (5.0, 50e9), (10.0, 100e9), (1000.0, 100e9)])
def test_the_roof_is_memory_below_the_ridge_and_multiplying_above_it(intensity, roof):
    assert Ceilings(1, 100e9, 10e9).attainable(intensity) == pytest.approx(roof)


def test_a_point_is_held_against_the_ceilings_of_its_cores():
    [infer] = roofline_points(summarize(launches("net", 1.0, 10)), NET, ceilings())
    assert infer.flops_per_second.value == pytest.approx(20e9, rel=1e-3)
    assert infer.intensity == pytest.approx(20e9 / 14e7)
    assert infer.peak_share == pytest.approx(0.2, rel=1e-3)
    assert infer.bound_by == "compute"
    assert infer.flops_per_second.low < infer.flops_per_second.value < infer.flops_per_second.high


def test_each_mode_has_counts_of_its_own():
    points = summarize([*launches("net", 1.0, 10), *launches("net", 1.0, 10, mode="train")])
    train = {("net", "small", "train"): replace(COUNTS, flops_per_item=6e9)}
    rates = {point.point.mode: point.flops_per_second.value for point in roofline_points(points, {**NET, **train}, {})}
    assert rates["train"] == pytest.approx(3 * rates["infer"])


def test_more_items_share_the_weights_and_raise_the_intensity():
    few, many = roofline_points(summarize([*launches("net", 1.0, 1), *launches("net", 1.0, 100, cores=2)]), NET, {})
    assert few.intensity < many.intensity < 2e9 / 1e7


def test_where_no_ceiling_was_measured_no_share_is_known():
    [made] = roofline_points(summarize(launches("net", 1.0, 10)), NET, {})
    assert (made.peak_share, made.roof_share, made.bound_by) == (None, None, None)


def test_what_was_not_counted_is_left_out():
    assert roofline_points(summarize(launches("calibrated", 1.0, 1)), NET, {}) == []
