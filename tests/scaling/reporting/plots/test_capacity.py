import pytest
from numpy import interp

from scaling.analysis.sizing.capacity import answer
from scaling.analysis.sizing.question import Goal, Question
from scaling.reporting.capacity import STATUS_WORDS
from scaling.reporting.plots.capacity import TARGET_COLOUR
from scaling.reporting.plots.drawing import draw_figures
from scaling.results.evaluation import evaluate
from tests.scaling.reporting.plots.artists import bars, hollow, joined, laws, legend, marks, panels, picture
from tests.scaling.reporting.results import EIGHT, folder_of, made, result, stolen

ALL = 'cores = "all"\nlaunches = 3'


def upright(axes):
    return [line.get_xdata()[0] for line in axes.lines if list(line.get_ydata()) == [0, 1]]


def level(axes):
    return [line.get_ydata()[0] for line in axes.lines if line.get_color() == TARGET_COLOUR]


def test_throughput_is_marked_with_its_interval_and_the_size_at_the_knee(tmp_path):
    understood = result(ALL, tmp_path, serials=[0.1])
    drawing = picture(understood, "capacity")
    (axes,) = panels(drawing)
    rates = {point.summary.point.cores: point.summary.rate for point in understood.points}
    assert marks(axes) == pytest.approx({cores: figure.value for cores, figure in rates.items()})
    assert bars(axes).keys() == rates.keys()
    assert not joined(axes)
    assert upright(axes) == [understood.limits[0].recommended]
    assert axes.get_title() == f"calibrated\ngive {understood.limits[0].recommended} cores"
    assert axes.figure.get_supylabel() == "throughput, items/s"
    assert "extrapolated" in legend(drawing)


def test_the_curve_is_dashed_beyond_the_cores_measured_and_ends_at_twice_as_many(tmp_path):
    (axes,) = panels(picture(result(ALL, tmp_path, serials=[0.1]), "capacity"))
    dashed = next(line for line in laws(axes) if line.get_linestyle() == "--")
    assert (dashed.get_xdata()[0], dashed.get_xdata()[-1]) == pytest.approx((8, 16))


@pytest.mark.parametrize("target", [1000.0, 2000.0, 1e9])
def test_with_a_target_the_size_is_the_one_scaling_capacity_gives(tmp_path, target):
    understood = result(ALL, tmp_path, serials=[0.1])
    drawing = picture(understood, "capacity", target)
    (axes,) = panels(drawing)
    answered = answer(understood.fits[0], Question(Goal.THROUGHPUT, target), understood.sizes)
    assert upright(axes) == ([answered.allocation.cores] if answered.allocation else [])
    assert level(axes) == ([target] if answered.allocation else [])
    if not answered.allocation:
        assert axes.get_title().endswith(f"no size: {STATUS_WORDS[answered.status]}")


def test_the_lower_edge_of_the_band_reaches_the_target_where_the_size_is_sure_of_it(tmp_path):
    understood = result(ALL, tmp_path, serials=[0.1], noise=0.03)
    (axes,) = panels(picture(understood, "capacity", 2000.0))
    size = answer(understood.fits[0], Question(Goal.THROUGHPUT, 2000.0), understood.sizes).allocation.cores
    (band,) = [artist for artist in axes.collections if not hasattr(artist, "get_segments")]
    corners = band.get_paths()[0].vertices
    lower = {}
    for cores, rate in corners:
        lower[round(cores, 6)] = min(rate, lower.get(round(cores, 6), rate))
    edge = interp([size - 1, size], sorted(lower), [lower[cores] for cores in sorted(lower)])
    assert edge[0] < 2000.0 * 1.01
    assert edge[1] > 2000.0 * 0.99


def test_throughput_is_as_valid_as_its_own_launches_whatever_the_baseline(tmp_path):
    rows = [stolen(row) if row.run.point.cores == 1 else row for row in made("cores = [1, 2, 4]\nlaunches = 3")]
    understood = evaluate(folder_of(rows, tmp_path))
    assert hollow(panels(picture(understood, "capacity"))[0]) == {1}
    assert hollow(panels(picture(understood, "efficiency"))[0]) == {1, 2, 4}


def test_every_series_has_a_scale_of_its_own(tmp_path):
    drawing = picture(result(f"workloads = {list(EIGHT[:3])}\n{ALL}", tmp_path), "capacity")
    assert len({axes.get_ylim() for axes in panels(drawing)}) == 3


def test_a_target_changes_no_other_figure(tmp_path):
    understood = result(ALL, tmp_path)
    with_target = [drawing.caption for drawing in draw_figures(understood, ["efficiency"], 5.0)]
    assert with_target == [drawing.caption for drawing in draw_figures(understood, ["efficiency"])]
