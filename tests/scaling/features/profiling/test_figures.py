import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from benchmarks.shared.fathom import FIGURE_3
from scaling.features.profiling.evaluation import evaluate_ops
from scaling.reporting.plots.drawing import NotDrawn, draw_figures, draw_kinds, page_svg
from scaling.reporting.plots.registry import names
from scaling.reporting.plots.style import DARK, LIGHT
from scaling.results.evaluation import evaluate
from scaling.results.store import read_folder
from tests.scaling.reporting.plots.artists import svg_texts
from tests.traced import step, trace


def test_steps_are_marks_around_their_median_one_panel_a_workload(op_drawings):
    axes = op_drawings["op-steps"].figure.axes
    assert [panel.get_title().split("\n")[0] for panel in axes] == ["alexnet train, 1 thread", "speech train, 1 thread"]
    marks = axes[0].lines[0]
    assert list(marks.get_ydata()) == pytest.approx([100.0] * 6)
    assert marks.get_linestyle() == "None"


def test_the_tail_reaches_all_of_op_time_and_names_how_many_types_make_most(op_drawings):
    first, second, most = op_drawings["op-tail"].figure.axes[0].lines
    assert first.get_ydata()[-1] == pytest.approx(100.0)
    assert first.get_label() == "alexnet (3)"
    assert second.get_label() == "speech (2)"
    assert most.get_ydata()[0] == 90.0


def test_shares_stand_class_by_class_with_their_numbers(op_drawings):
    labels = svg_texts(op_drawings["op-shares"])
    assert {"Conv2DBackpropFilter", "40", "convolution", "NextIteration", "other"} <= set(labels)


def test_numbers_on_cells_keep_their_colour_on_a_dark_page(op_drawings):
    colours = {text.get_color() for text in op_drawings["op-shares"].figure.axes[0].texts if text.get_text().isdigit()}
    assert colours == {DARK, LIGHT}


def test_similarity_is_a_tree_with_the_distances_written(op_evaluation, op_drawings):
    [merge] = op_evaluation.merges("centroid")
    assert f"{merge.distance:.3f}" in svg_texts(op_drawings["op-similarity"])


def test_no_distance_is_written_across_a_branch_however_close_two_joins_are():
    alike = evaluate_ops([trace(step(ops), workload=name) for name, ops in FIGURE_3.items()])
    [picture] = draw_kinds("traces", alike, ["op-similarity"])
    canvas = FigureCanvasAgg(picture.figure)
    canvas.draw()
    axes = picture.figure.axes[0]
    labels = [text.get_window_extent(canvas.get_renderer()) for text in axes.texts]
    branches = [line.get_path().transformed(line.get_transform()) for line in axes.lines]
    assert len(labels) == len(branches) == 7
    assert not [label for label in labels for branch in branches if branch.intersects_bbox(label, filled=False)]


def test_modes_are_stacked_bars_in_percent_of_training(op_drawings):
    axes = op_drawings["op-modes"].figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["alexnet train", "alexnet infer"]
    ends = [
        max(bar.get_x() + bar.get_width() for bar in axes.patches if abs(bar.get_y() + 0.4 - y) < 0.1) for y in (0, 1)
    ]
    assert ends == pytest.approx([100.0, 100.0 * 36.5 / 102.5], rel=0.01)


def test_no_figure_leans_on_a_pattern_that_small_svgs_do_not_keep(op_drawings):
    for drawing in op_drawings.values():
        assert "<pattern" not in page_svg(drawing), drawing.kind


@pytest.mark.parametrize("kind", names("traces"))
def test_nothing_traced_is_said_in_a_sentence(kind):
    [drawing] = draw_kinds("traces", evaluate_ops([]), [kind])
    assert isinstance(drawing, NotDrawn)
    assert drawing.reason


def test_one_step_of_one_network_with_an_odd_name_breaks_nothing():
    name = "net$_^{}<script>&%\n" * 4
    for drawing in draw_kinds("traces", evaluate_ops([trace(step({"Odd$Op": 1.0}), workload=name)]), None):
        assert isinstance(drawing, NotDrawn) or page_svg(drawing)


def test_a_folder_with_traces_has_their_figures_after_its_own(two_networks):
    evaluation = evaluate(read_folder(two_networks))
    kinds = [drawing.kind for drawing in draw_figures(evaluation)]
    assert kinds == [*names("rows"), *names("traces")]
    assert [drawing.kind for drawing in draw_figures(evaluation, ["sections"])] == ["sections"]
