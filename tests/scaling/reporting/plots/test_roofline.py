from dataclasses import replace

import pytest

from scaling.analysis.estimates import Estimate
from scaling.analysis.roofline import Ceilings, RooflinePoint, StepCounts
from scaling.reporting.plots.drawing import NotDrawn, draw_kinds
from scaling.reporting.plots.roofline import roofline
from tests.traced import point


def achieved(workload: str, rate: float, intensity: float, mode: str = "train", cores: int = 1) -> RooflinePoint:
    counts = StepCounts(1, 4, flops_per_item=rate, traffic_bytes_per_item=rate / intensity, traffic_bytes_per_step=0.0)
    return RooflinePoint(point(workload, mode, cores), counts, 1, Estimate(1.0), Ceilings(cores, 100e9 * cores, 10e9))


def test_the_roof_is_drawn_for_every_number_of_cores_with_networks_below_it():
    points = [achieved("vgg", 60e9, 50.0), achieved("memnet", 1e9, 0.5, "infer"), achieved("vgg", 90e9, 50.0, cores=2)]
    [picture] = draw_kinds("ceilings", points, None)
    one, two = picture.figure.axes
    roof, vgg, memnet = one.lines
    assert list(roof.get_ydata())[1:] == pytest.approx([100.0, 100.0])
    assert (vgg.get_xdata()[0], vgg.get_ydata()[0]) == pytest.approx((50.0, 60.0))
    assert "none" not in (vgg.get_markerfacecolor(), memnet.get_markerfacecolor())
    assert roof.get_linestyle() == "-"
    assert [axes.get_title() for axes in (one, two)] == [
        "1 core: 100 GFLOP/s, 10 GB/s",
        "2 cores: 200 GFLOP/s, 10 GB/s",
    ]


def test_a_network_that_is_not_valid_is_hollow_and_a_roof_that_is_not_is_dashed():
    doubtful = replace(achieved("vgg", 60e9, 50.0), valid=False)
    doubtful = replace(doubtful, ceilings=replace(doubtful.ceilings, doubtful=("matmul",)))
    [picture] = draw_kinds("ceilings", [doubtful], None)
    roof, vgg = picture.figure.axes[0].lines
    assert (roof.get_linestyle(), vgg.get_markerfacecolor()) == ("--", "none")


def test_a_network_far_below_the_roof_is_named_instead_of_drawn():
    picture = roofline([achieved("vgg", 60e9, 50.0), achieved("memnet", 1e6, 0.001)])
    assert picture.caption.endswith("ops are matrix products: memnet.")
    assert len(picture.figure.axes[0].lines) == 2


def test_without_ceilings_there_is_no_roof():
    bare = RooflinePoint(point(), StepCounts(1, 4, 1.0, 1.0, 0.0), 1, Estimate(1.0), Ceilings(1, None, None))
    assert isinstance(roofline([bare]), NotDrawn)
