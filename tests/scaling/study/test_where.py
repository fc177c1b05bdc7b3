from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run
from scaling.study.where import parse_where

POINT = replace(first_run().point, workload="calibrated serial=0.1", mode="train", cores=8, smt=1, jit=False)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("workload=calibrated", True),
        ("workload=calibrated serial=0.1", True),
        ("workload=vgg", False),
        ("workload=vgg|calibrated", True),
        ("workload!=vgg", True),
        ("workload!=vgg|calibrated", False),
        ("cores<=8", True),
        ("cores<8", False),
        ("cores=4|8", True),
        ("cores==8", True),
        ("cores>=2,cores<16,smt=1", True),
        ("cores!=8", False),
        ("intra=auto", True),
        ("intra<=4", False),
        ("quota=none", True),
        ("jit=false", True),
        (" mode = train , smt = 1 ", True),
    ],
)
def test_points_are_chosen_by_their_settings(text, holds):
    assert all(condition.holds(POINT) for condition in parse_where(text)) == holds


def test_a_list_of_cpus_is_one_value():
    point = replace(POINT, placement="cpus:0,2-4,6")
    for text in ("placement=cpus:0,2-4,6", "placement=compact|cpus:0,2-4,6,cores=8", "cores=8,placement=cpus:0,2-4,6"):
        assert all(condition.holds(point) for condition in parse_where(text))
    assert not parse_where("placement=cpus:0,2")[0].holds(point)
