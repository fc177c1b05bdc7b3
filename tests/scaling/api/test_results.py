import re
import subprocess
import sys
from math import inf
from pathlib import Path

import pytest

import scaling
from scaling.errors import StoreError
from tests.scaling.reporting.results import made, written

EXAMPLE = Path(__file__).parents[3] / "docs" / "python.md"


@pytest.fixture
def folder(tmp_path):
    return written(made("cores = [1, 2, 4, 8]\nlaunches = 4"), tmp_path / "results")


def csv(path, serial=0.1):
    lines = [f"{n},{(serial + (1 - serial) / n) * noise}" for n in (1, 2, 4, 8) for noise in (0.99, 1.0, 1.01)]
    path.write_text("\n".join(["cores,seconds", *lines]))
    return path


def test_a_folder_has_rows_points_and_fits(folder):
    results = scaling.load(folder)
    assert len(results.rows) == len(results.sources[0].evaluation.folder.rows)
    assert list(results.points["cores"]) == [1, 2, 4, 8]
    assert set(results.points["verdict"]) == {"ok"}
    (name,) = results.fits
    fraction = results.fits[name[:4]].serial_fraction
    assert isinstance(fraction, scaling.Estimate)
    assert fraction.low < fraction.value < fraction.high


def test_points_have_what_their_efficiency_is_lost_to(folder):
    points = scaling.load(folder).points
    lost = points["idle"] + points["computation"]
    assert list(lost) == pytest.approx(list(1 - points["efficiency"]))
    assert all(points["idle_low"] <= points["idle"])
    assert points["clock_scaling"].isna().all()


def test_a_table_has_fits_and_points_of_its_own(tmp_path):
    results = scaling.load(csv(tmp_path / "times.csv"))
    assert results.fits["times"].serial_fraction.value == pytest.approx(0.1, abs=0.01)
    assert list(results.points["launches"]) == [3, 3, 3, 3]
    assert list(results.fits.to_frame()["law"]) == ["amdahl"]


def test_a_series_is_found_by_a_prefix_that_only_it_has(folder):
    with pytest.raises(KeyError, match="0 series begin with 'vgg'"):
        scaling.load(folder).fits["vgg"]


def test_an_export_is_loaded_like_the_folder_it_came_from(folder, tmp_path):
    results = scaling.load(folder)
    assert results.export(tmp_path / "rows.csv") == len(results.rows)
    again = scaling.load(tmp_path / "rows.csv")
    assert list(again.points["speedup"]) == pytest.approx(list(results.points["speedup"]))
    assert list(again.fits) == list(results.fits)


def test_a_question_is_answered_for_every_series(folder):
    results = scaling.load(folder)
    answers = results.capacity(efficiency=0.5)
    assert [answer.status for answer in answers] == list(answers.to_frame()["status"])
    assert str(answers).count("\n") == len(answers) - 1
    assert list(results.limits().to_frame()["recommended_cores"]) == [one.recommended for one in results.limits()]
    with pytest.raises(TypeError, match="throughput, latency"):
        results.capacity()


def test_questions_are_refused_by_the_name_of_their_parameter(folder):
    with pytest.raises(scaling.errors.FitError, match="hourly_budget is -3"):
        scaling.load(folder).capacity(hourly_budget=-3)


def test_a_figure_without_data_says_why(folder):
    results = scaling.load(folder)
    assert results.plot("efficiency").get_axes()
    with pytest.raises(StoreError, match="no figure 'smt'"):
        results.plot("smt")


def test_results_are_compared(folder):
    results = scaling.load(folder)
    assert not any(one.differs for one in results.compare(results).differences)


def test_a_program_without_a_serial_part_has_no_limit(tmp_path):
    fit = scaling.load(csv(tmp_path / "times.csv", serial=0.0)).fits["times"]
    assert fit.limit.high == inf
    assert fit.curve["cores"].tolist() == list(range(1, int(2 * fit.measured[-1]) + 1))


@pytest.mark.alone
def test_the_example_of_the_documentation_runs(tmp_path):
    code = "\n".join(re.findall(r"```python\n(.*?)```", EXAMPLE.read_text(), re.DOTALL))
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert completed.returncode == 0, completed.stderr
    assert (tmp_path / "small.html").exists()
