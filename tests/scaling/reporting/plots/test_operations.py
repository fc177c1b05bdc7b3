import re
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from benchmarks.shared.fathom import FIGURE_3
from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_figures, draw_op_figures
from scaling.reporting.plots.operation_scaling import heaviest, segments
from scaling.reporting.plots.operations import leaf_order
from scaling.reporting.plots.registry import names
from scaling.reporting.plots.save import page_svg
from scaling.reporting.plots.style import DARK, LIGHT
from scaling.results.evaluation import evaluate, evaluate_ops
from scaling.results.store import read_folder
from tests.traced import CONVOLUTIONAL, amdahl_traces, step, trace

FORWARD = {name: CONVOLUTIONAL[name] for name in ("Conv2D", "_FusedMatMul")}
DENSE = {"MatMul": (50.0, 0.1, 3), "Tanh": (5.0, 0.0, 3), "NextIteration": (1.0, 1.0, 9)}


@pytest.fixture(scope="module")
def result():
    return evaluate_ops(
        [
            *amdahl_traces(noise=0.002),
            *amdahl_traces(FORWARD, threads=(1,), mode="infer"),
            *amdahl_traces(DENSE, workload="speech", noise=0.002),
        ]
    )


@pytest.fixture(scope="module")
def pictures(result):
    return {drawing.kind: drawing for drawing in draw_op_figures(result)}


def words(picture: Drawing) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", page_svg(picture))


def test_every_kind_is_drawn_with_a_title_and_a_caption(pictures):
    assert tuple(pictures) == names("traces")
    for drawing in pictures.values():
        assert isinstance(drawing, Drawing), drawing.reason
        assert drawing.title
        assert drawing.caption


def test_steps_are_marks_around_their_median_one_panel_a_workload(pictures):
    axes = pictures["op-steps"].figure.axes
    assert [panel.get_title().split("\n")[0] for panel in axes] == ["alexnet train, 1 thread", "speech train, 1 thread"]
    marks = axes[0].lines[0]
    assert list(marks.get_ydata()) == pytest.approx([100.0] * 6)
    assert marks.get_linestyle() == "None"


def test_the_tail_reaches_all_of_op_time_and_names_how_many_types_make_most(pictures):
    first, second, most = pictures["op-tail"].figure.axes[0].lines
    assert first.get_ydata()[-1] == pytest.approx(100.0)
    assert first.get_label() == "alexnet (3)"
    assert second.get_label() == "speech (2)"
    assert most.get_ydata()[0] == 90.0


def test_shares_stand_class_by_class_with_their_numbers(pictures):
    labels = words(pictures["op-shares"])
    assert {"Conv2DBackpropFilter", "40", "convolution", "NextIteration", "other"} <= set(labels)


def test_numbers_on_cells_keep_their_colour_on_a_dark_page(pictures):
    colours = {text.get_color() for text in pictures["op-shares"].figure.axes[0].texts if text.get_text().isdigit()}
    assert colours == {DARK, LIGHT}


def test_similarity_is_a_tree_with_the_distances_written(result, pictures):
    [merge] = result.merges("centroid")
    assert leaf_order([merge]) == ("alexnet", "speech")
    assert f"{merge.distance:.3f}" in words(pictures["op-similarity"])


def test_no_distance_is_written_across_a_branch_however_close_two_joins_are():
    alike = evaluate_ops([trace(step(ops), workload=name) for name, ops in FIGURE_3.items()])
    [picture] = draw_op_figures(alike, ["op-similarity"])
    canvas = FigureCanvasAgg(picture.figure)
    canvas.draw()
    axes = picture.figure.axes[0]
    labels = [text.get_window_extent(canvas.get_renderer()) for text in axes.texts]
    branches = [line.get_path().transformed(line.get_transform()) for line in axes.lines]
    assert len(labels) == len(branches) == 7
    assert not [label for label in labels for branch in branches if branch.intersects_bbox(label, filled=False)]


def test_modes_are_stacked_bars_in_percent_of_training(pictures):
    axes = pictures["op-modes"].figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["alexnet train", "alexnet infer"]
    ends = [
        max(bar.get_x() + bar.get_width() for bar in axes.patches if abs(bar.get_y() + 0.4 - y) < 0.1) for y in (0, 1)
    ]
    assert ends == pytest.approx([100.0, 100.0 * 36.5 / 102.5], rel=0.01)


def test_ops_against_threads_are_marks_and_their_laws_lines(result, pictures):
    axes = pictures["op-threads"].figure.axes[0]
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [line.get_label().split(" ")[0] for line in marks][:2] == ["Conv2DBackpropFilter", "Conv2D"]
    assert all(list(line.get_xdata()) == [1.0, 2.0, 4.0] for line in marks)
    assert len(heaviest(result.scalings[0])) == 5


def test_what_is_lost_is_cut_by_ops_the_largest_first(result, pictures):
    cut = segments(result.scalings[0].losses[-1])
    assert sum(percent for _, _, percent in cut) == pytest.approx(100.0, abs=1.0)
    assert cut[0][:2] == ("ApplyAdam", "optimisation")
    assert any("% efficient" in text for text in words(pictures["op-losses"]))


def test_no_figure_leans_on_a_pattern_that_small_svgs_do_not_keep(pictures):
    for drawing in pictures.values():
        assert "<pattern" not in page_svg(drawing), drawing.kind


@pytest.mark.parametrize("kind", names("traces"))
def test_nothing_traced_is_said_in_a_sentence(kind):
    [drawing] = draw_op_figures(evaluate_ops([]), [kind])
    assert isinstance(drawing, NotDrawn)
    assert drawing.reason


def test_one_step_of_one_network_with_an_odd_name_breaks_nothing():
    name = "net$_^{}<script>&%\n" * 4
    for drawing in draw_op_figures(evaluate_ops([trace(step({"Odd$Op": 1.0}), workload=name)])):
        assert isinstance(drawing, NotDrawn) or page_svg(drawing)


def test_a_folder_with_traces_has_their_figures_after_its_own():
    kept = evaluate(read_folder(Path(__file__).parents[4] / "docs" / "examples" / "profiles-small"), True)
    kinds = [drawing.kind for drawing in draw_figures(kept)]
    assert kinds == [*names("rows"), *names("traces")]
    assert [drawing.kind for drawing in draw_figures(kept, ["sections"])] == ["sections"]
