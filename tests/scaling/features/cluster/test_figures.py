from collections.abc import Sequence
from dataclasses import replace

import pytest

from scaling.features.cluster.node_types import NodeTypeEvaluation
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_kinds, page_svg
from scaling.reporting.plots.registry import names
from scaling.reporting.plots.style import colour, marker
from scaling.results.evaluation import evaluate
from tests.mentions import mentions
from tests.scaling.features.cluster.node_types import make_node_type
from tests.scaling.reporting.plots.artists import (
    empty_panels,
    hollow,
    joined,
    laws,
    legend,
    mark_lines,
    outside,
    overlaps,
    panels,
)
from tests.scaling.reporting.results import EIGHT, stolen

FOUR = "cores = [1, 2, 4, 8]\nlaunches = 3"


def picture(node_types: Sequence[NodeTypeEvaluation], name: str, target: float | None = None) -> Drawing:
    (drawing,) = draw_kinds("node types", node_types, [name], target)
    assert isinstance(drawing, Drawing), drawing
    return drawing


def figures(node_types, name):
    """What a figure should mark, kind by kind: the value over each count."""
    pick = {
        "efficiency": lambda point: 100 * point.efficiency.value,
        "speedup": lambda point: point.speedup.value,
        "capacity": lambda point: point.summary.rate.value,
    }[name]
    return [
        {point.summary.point.cores: pick(point) for point in node_type.evaluation.points} for node_type in node_types
    ]


@pytest.fixture
def node_types(tmp_path):
    return [
        make_node_type("quick", tmp_path, FOUR, serials=[0.05]),
        make_node_type("slow", tmp_path, FOUR, serials=[0.2], slower=3.0),
    ]


@pytest.mark.parametrize("name", names("node types"))
def test_every_node_type_has_its_own_marks_in_its_own_colour_and_marker(node_types, name):
    drawing = picture(node_types, name)
    (axes,) = panels(drawing)
    lines = mark_lines(axes)
    assert [dict(zip(*line.get_data(), strict=True)) for line in lines] == [
        pytest.approx(values) for values in figures(node_types, name)
    ]
    assert [(line.get_color(), line.get_marker()) for line in lines] == [
        (colour(index), marker(index)) for index in range(2)
    ]
    assert not joined(axes)
    assert legend(drawing)[:2] == ["quick", "slow"]
    assert axes.get_title().splitlines()[0] == "calibrated"


@pytest.mark.parametrize("name", names("node types"))
def test_every_node_type_has_its_own_law_through_its_marks(node_types, name):
    (axes,) = panels(picture(node_types, name))
    solid = [line for line in laws(axes) if line.get_linestyle() == "-"]
    assert [line.get_color() for line in solid] == [colour(0), colour(1)]
    for line, marked in zip(solid, figures(node_types, name), strict=True):
        assert line.get_ydata()[-1] == pytest.approx(marked[8], rel=0.05)


def test_programs_have_a_panel_each_and_node_types_look_the_same_in_all(tmp_path):
    both = f"workloads = {list(EIGHT[:2])}\n{FOUR}"
    node_types = [
        make_node_type("first", tmp_path, both, serials=[0.1, 0.2]),
        make_node_type("second", tmp_path, both.replace("alexnet", "speech"), serials=[0.1, 0.2]),
    ]
    drawing = picture(node_types, "efficiency")
    assert [axes.get_title().splitlines()[0] for axes in panels(drawing)] == ["alexnet", "autoenc", "speech"]
    colours = [[line.get_color() for line in mark_lines(axes)] for axes in panels(drawing)]
    assert colours == [[colour(0)], [colour(0), colour(1)], [colour(1)]]


def test_a_target_is_marked_where_there_is_throughput(node_types):
    assert "target, 500/s" in legend(picture(node_types, "capacity", 500.0))
    assert "target, 500/s" not in legend(picture(node_types, "speedup", 500.0))


def test_marks_of_points_that_are_disturbed_are_hollow(tmp_path):
    good = make_node_type("good", tmp_path, FOUR)
    folder = good.evaluation.folder
    rows = tuple(stolen(row) if row.run.point.cores > 1 else row for row in folder.rows)
    few = NodeTypeEvaluation("few", 1.0, evaluate(replace(folder, name="few", rows=rows)))
    drawing = picture([good, few], "efficiency")
    assert hollow(panels(drawing)[0]) == {1, 2, 4, 8} - {1}
    assert mentions(legend(drawing), "disturbed or not valid")
    assert "few: no curve" in panels(drawing)[0].get_title()


def test_node_types_on_one_core_alone_have_nothing_to_draw(tmp_path):
    node_types = [make_node_type("a", tmp_path, "cores = [1]\nlaunches = 3")]
    drawings = list(draw_kinds("node types", node_types, None))
    assert [drawing.kind for drawing in drawings] == list(names("node types"))
    assert all(isinstance(drawing, NotDrawn) and "more than one core" in drawing.reason for drawing in drawings)


@pytest.mark.parametrize(
    ("toml", "cores", "count"),
    [
        (FOUR, 8, 7),
        (f"workloads = {list(EIGHT)}\n{FOUR}", 8, 2),
        ('cores = "doubling"\nlaunches = 3', 128, 3),
    ],
)
def test_node_types_in_any_number_are_drawn_without_text_upon_text(tmp_path, toml, cores, count):
    node_types = [make_node_type(f"a-kind-with-a-long-name-{number}", tmp_path, toml, cores) for number in range(count)]
    for drawing in draw_kinds("node types", node_types, None, 100.0):
        assert not empty_panels(drawing.figure), drawing.kind
        assert not overlaps(drawing.figure), drawing.kind
        assert not outside(drawing.figure), drawing.kind
        assert not [line for axes in drawing.figure.axes for line in joined(axes)], drawing.kind
        assert page_svg(drawing).startswith("<svg ")
