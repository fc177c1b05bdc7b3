from pathlib import Path

import pytest

from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.reporting.results import made, written

DATA = Path(__file__).parents[2] / "data" / "other_tools"


@pytest.fixture
def folder(tmp_path):
    return written(made('cores = "doubling"\nlaunches = 3'), tmp_path / "results")


@pytest.mark.needs("matplotlib")
def test_every_figure_is_written_beside_the_rows_and_its_files_are_printed(folder):
    completed = program("plot", folder)
    assert completed.returncode == 0, completed.stderr
    paths = completed.stdout.splitlines()
    assert f"{folder}/figures/efficiency.png" in paths
    assert sorted(paths) == sorted(map(str, (folder / "figures").iterdir()))
    assert "figure 'smt': no point" in completed.stderr


def test_kinds_formats_and_the_place_can_be_chosen(folder, tmp_path):
    arguments = ["capacity", "efficiency", "capacity", "-o", tmp_path / "mine", "--format", "svg", "--target", "100"]
    completed = scaling("plot", folder, *arguments)
    assert completed.stdout.splitlines() == [f"{tmp_path}/mine/capacity.svg", f"{tmp_path}/mine/efficiency.svg"]
    assert "target, 100/s" in (tmp_path / "mine" / "capacity.svg").read_text()


def test_points_that_are_imprecise_count_for_laws(tmp_path):
    results = written(made("cores = [1, 2, 4, 8]\nlaunches = 2"), tmp_path / "results")
    assert scaling("plot", results, "capacity", "--format", "svg").stderr == ""


def test_every_figure_of_another_tools_file_is_drawn_or_says_why_not(tmp_path):
    path = tmp_path / "naps.json"
    path.write_text((DATA / "pyperf.json").read_text())
    completed = scaling("plot", path, "--format", "svg")
    assert completed.returncode == 0, completed.stderr
    drawn = {line.rpartition("/")[2] for line in completed.stdout.splitlines()}
    assert {"efficiency.svg", "speedup.svg"} <= drawn
    assert f"{tmp_path}/figures/efficiency.svg" in completed.stdout
    assert "figure 'placement': the folder" in completed.stderr
    assert completed.stderr.count("does not record CPUs") == 1
