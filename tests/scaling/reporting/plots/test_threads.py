import pytest

from scaling.results.evaluation import evaluate
from tests.scaling.reporting.plots.artists import panels, picture
from tests.scaling.reporting.results import EIGHT, folder_of, made, result, stolen


def cells(axes):
    """The number in every cell, row by row."""
    return [text.get_text() for text in axes.texts]


def test_every_setting_is_a_cell_in_percent_of_the_best_on_the_same_cores(tmp_path):
    study = f"workloads = {list(EIGHT[:2])}\ncores = [1, 4]\nlaunches = 3\nintra = [1, 2, 4]\ninter = [1, 2]"
    understood = result(study, tmp_path, 4)
    drawing = picture(understood, "threads")
    heatmaps = panels(drawing)[:-1]  # the last one is the bar of colours
    assert [axes.get_title() for axes in heatmaps] == [
        "alexnet, 1 core",
        "alexnet, 4 cores",
        "autoenc, 1 core",
        "autoenc, 4 cores",
    ]
    assert [label.get_text() for label in heatmaps[0].get_xticklabels()] == ["1", "2", "4"]
    assert [label.get_text() for label in heatmaps[0].get_yticklabels()] == ["1", "2"]
    steps = {
        (point.summary.point.inter, point.summary.point.intra): point.summary.step.value
        for point in understood.points
        if (point.summary.point.workload, point.summary.point.cores) == ("alexnet", 1)
    }
    best = min(steps.values())
    assert cells(heatmaps[0]) == [f"{100 * best / steps[inter, intra]:.0f}" for inter in (1, 2) for intra in (1, 2, 4)]


def test_a_setting_with_a_verdict_against_it_is_in_brackets_and_one_not_measured_is_empty(tmp_path):
    rows = map(stolen, made("cores = [2]\nlaunches = 3\nintra = [1, 2]", 2))
    drawing = picture(evaluate(folder_of(rows, tmp_path, 2)), "threads")
    two_cores = next(axes for axes in panels(drawing) if axes.get_title() == "calibrated, 2 cores")
    assert all(text.startswith("(") and text.endswith(")") for text in cells(two_cores))
    assert "in brackets" in drawing.caption


@pytest.mark.parametrize("axis", ["intra", "inter"])
def test_words_come_after_numbers(tmp_path, axis):
    study = f'workloads = "autoenc"\ncores = [1]\nlaunches = 3\n{axis} = ["auto", 4, 1]'
    drawing = picture(result(study, tmp_path, 2), "threads")
    labels = panels(drawing)[0].get_xticklabels() if axis == "intra" else panels(drawing)[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["1", "4", "auto"]
