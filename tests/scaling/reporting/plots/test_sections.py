from dataclasses import replace

import pytest
from msgspec import structs

from benchmarks.shared.machines import row
from scaling.reporting.plots.sections import MAIN, NAMES, shares_of
from scaling.reporting.points import NONE_WHOLE
from scaling.results.evaluation import evaluate, sections_of
from scaling.results.rows import Sections
from tests.scaling.reporting.plots.artists import legend, nothing, panels, picture
from tests.scaling.reporting.results import EIGHT, folder_of, made, result


def test_every_bar_is_a_whole_run_with_its_seconds_at_the_end(tmp_path):
    drawing = picture(result(f"workloads = {list(EIGHT[:2])}\ncores = [1, 2, 4]\nlaunches = 3", tmp_path), "sections")
    (axes,) = panels(drawing)
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "alexnet, 1 core",
        "alexnet, 4 cores",
        "autoenc, 1 core",
        "autoenc, 4 cores",
    ]
    assert len(axes.patches) == 4 * len(NAMES)
    ends = {round(bar.get_y(), 6): bar.get_x() + bar.get_width() for bar in axes.patches}
    assert list(ends.values()) == pytest.approx([100.0] * 4)
    assert sum(text.get_text().endswith(" s") for text in axes.texts) == 4
    assert legend(drawing) == [*NAMES, MAIN]
    assert len(axes.lines) == 4
    assert axes.get_xlabel() == "share of a run's wall time, %"


def test_the_first_step_is_part_of_setup_and_unknown_sections_are_part_of_the_rest():
    sections = Sections(spawn=1.0, imports=1.0, init=1.0, setup=3.0, first_step=2.0, run=3.0, main=7.0, wall=10.0)
    assert shares_of(sections) == pytest.approx((0.2, 0.1, 0.3, 0.0, 0.3, 0.1))
    assert shares_of(structs.replace(sections, run=2.0)) == pytest.approx((0.2, 0.1, 0.3, 0.1, 0.2, 0.1))
    assert shares_of(Sections(run=4.0, wall=10.0)) == pytest.approx((0.0, 0.0, 0.0, 0.0, 0.4, 0.6))


def test_processes_of_their_own_are_drawn_without_those_that_were_forked(tmp_path):
    rows = made("cores = [1, 2]\nlaunches = 3")
    forked = [replace(row, run=replace(row.run, start="fork")) for row in rows]
    (axes,) = panels(picture(evaluate(folder_of([*forked[:-1], rows[-1]], tmp_path)), "sections"))
    assert len(axes.get_yticklabels()) == 1


def test_what_show_refuses_is_not_drawn_for_the_same_reason(tmp_path):
    rows = made("cores = [1, 2]\nlaunches = 3")
    silent = [row(measured.run) for measured in rows]
    forked = [replace(measured, run=replace(measured.run, start="fork")) for measured in rows]
    for name, refused in (("silent", silent), ("forked", forked)):
        folder = folder_of(refused, tmp_path / name)
        assert not sections_of(folder.rows).points
        assert nothing(evaluate(folder), "sections") == NONE_WHOLE
