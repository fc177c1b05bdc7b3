import pytest

from scaling.features.profiling.scaling_figures import heaviest, purpose_note, segments
from tests.scaling.reporting.plots.artists import svg_texts


def test_ops_against_threads_are_marks_and_their_laws_lines(op_evaluation, op_drawings):
    axes = op_drawings["op-threads"].figure.axes[0]
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [line.get_label().split(" ")[0] for line in marks][:2] == ["Conv2DBackpropFilter", "Conv2D"]
    assert all(list(line.get_xdata()) == [1.0, 2.0, 4.0] for line in marks)
    assert len(heaviest(op_evaluation.scalings[0])) == 4


def test_what_is_lost_is_cut_by_ops_the_largest_first(op_evaluation, op_drawings):
    cut = segments(op_evaluation.scalings[0].losses[-1])
    assert sum(percent for _, _, percent in cut) == pytest.approx(100.0, abs=1.0)
    assert cut[0][:2] == ("ApplyAdam", "optimisation")
    assert any("% efficient" in text for text in svg_texts(op_drawings["op-losses"]))


def test_an_op_says_what_it_is_for_and_time_between_ops_nothing(op_evaluation):
    [scaling, *_] = op_evaluation.scalings
    assert purpose_note(scaling, "ApplyAdam") == "\n  optimizer"
    assert purpose_note(scaling, "framework overhead") == ""
