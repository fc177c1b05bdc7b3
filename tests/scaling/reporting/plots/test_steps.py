import numpy as np
import pytest

from scaling.reporting.plots.steps import thin
from scaling.reporting.plots.style import COLOURS, FAINT, INK
from scaling.results.evaluation import evaluate
from tests.scaling.reporting.plots.artists import legend, panels, picture
from tests.scaling.reporting.results import EIGHT, folder_of, made, result, stolen


def dashes(axes, colour):
    """How many dashes of a colour there are, and their heights."""
    (line,) = [artist for artist in axes.lines if artist.get_color() == colour]
    heights = np.asarray(line.get_ydata(), dtype=float)[::3]
    return heights[np.isfinite(heights)]


def test_every_launch_of_the_fewest_and_the_most_cores_is_a_column_of_its_steps(tmp_path):
    drawing = picture(result("cores = [1, 2, 4]\nlaunches = 3", tmp_path, steps=40), "steps")
    (axes,) = panels(drawing)
    launches = 4 + 3  # one core is measured once more at the end
    assert len(dashes(axes, INK)) == launches
    assert len(dashes(axes, COLOURS[0])) == launches * 40
    assert len(dashes(axes, FAINT)) == launches * 3
    assert [label.get_text().split("\n")[0] for label in axes.get_xticklabels()] == ["1 core", "4 cores"]


def test_the_heavy_line_is_the_median_the_launch_counts_as_over_the_points_figure(tmp_path):
    understood = result("cores = [1, 2]\nlaunches = 3", tmp_path, 2)
    (axes,) = panels(picture(understood, "steps"))
    last = understood.points[-1].summary
    assert list(dashes(axes, INK)[-3:]) == pytest.approx([seconds / last.step.value for seconds in last.launches])


def test_a_point_that_is_disturbed_is_said_to_be_so_below_its_launches(tmp_path):
    rows = [stolen(row) if row.run.point.cores == 2 else row for row in made("cores = [1, 2]\nlaunches = 3", 2)]
    (axes,) = panels(picture(evaluate(folder_of(rows, tmp_path, 2)), "steps"))
    assert [label.get_text().endswith("disturbed") for label in axes.get_xticklabels()] == [False, True]


def test_thinning_keeps_the_ends_and_the_shape():
    values = np.random.default_rng(1).exponential(size=10_000)
    thinned = thin(values, 100)
    assert (len(thinned), thinned[0], thinned[-1]) == (100, values.min(), values.max())
    assert np.median(thinned) == pytest.approx(np.median(values), rel=0.05)
    assert list(thin(values[:5], 100)) == sorted(values[:5])


def test_there_is_a_panel_a_series_and_the_marks_are_explained(tmp_path):
    drawing = picture(result(f"workloads = {list(EIGHT)}\ncores = [1, 2]\nlaunches = 3", tmp_path, 2), "steps")
    assert [axes.get_title() for axes in panels(drawing)] == list(EIGHT)
    assert legend(drawing)[:2] == ["a steady step", "step time of a launch"]
