import pytest

from tests.scaling.reporting.plots.artists import bars, joined, legend, mark_lines, marks, nothing, panels, picture
from tests.scaling.reporting.results import EIGHT, result

BOTH = "cores = [1, 2, 4]\nlaunches = 3"


def test_the_smt_yield_is_marked_with_its_interval_over_the_cores(tmp_path):
    understood = result(f'{BOTH}\nsmt = "all"', tmp_path, 4, 2)
    (axes,) = panels(picture(understood, "smt"))
    yields = {point.summary.point.cores: point.smt_yield for point in understood.points if point.smt_yield}
    assert marks(axes) == pytest.approx({cores: figure.value for cores, figure in yields.items()})
    assert bars(axes) == {cores: pytest.approx((figure.low, figure.high)) for cores, figure in yields.items()}
    assert not joined(axes)
    assert axes.figure.get_supylabel() == "SMT yield, times one thread a core"


def test_without_second_threads_there_is_no_yield(tmp_path):
    assert nothing(result(BOTH, tmp_path), "smt") == "no point uses a second thread of a core"
    assert "beside the same cores with one thread" in nothing(result(f"{BOTH}\nsmt = [2]", tmp_path, 4, 2), "smt")


def test_modes_are_drawn_in_one_panel_a_workload_each_with_its_own_marker(tmp_path):
    study = f'workloads = {list(EIGHT[:2])}\nmodes = ["train", "infer"]\n{BOTH}'
    understood = result(study, tmp_path)
    found = picture(understood, "modes")
    assert [axes.get_title() for axes in panels(found)] == list(EIGHT[:2])
    train, infer = mark_lines(panels(found)[0])[::-1]
    assert train.get_marker() != infer.get_marker()
    assert legend(found)[:2] == ["train", "infer"]
    expected = [
        100 * point.efficiency.value
        for point in understood.points
        if (point.summary.point.workload, point.summary.point.mode) == (EIGHT[0], "train")
    ]
    assert list(train.get_ydata()) == pytest.approx(expected)


def test_one_mode_is_nothing_to_compare(tmp_path):
    assert "both in training and in inference" in nothing(result(BOTH, tmp_path), "modes")
