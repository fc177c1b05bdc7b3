from dataclasses import replace

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.results.store import Store
from scaling.study.planning import plan
from tests.published import CARPENTRY, RAYTRACER
from tests.scaling.cli.here import json_of, scaling
from tests.scaling.cli.scaling import complaint
from tests.scaling.cli.scaling import scaling as program


def test_fit_has_a_line_per_series_and_with_verbose_a_sentence(csv):
    completed = program("fit", "-v", csv(RAYTRACER))
    assert completed.returncode == 0, completed.stderr
    header, line = completed.stdout.splitlines()
    assert (header.split()[0], line.split()[0]) == ("curve", "mine")
    assert "mine: on the curve 64 cores do 15." in completed.stderr
    assert "; Amdahl's law with a serial fraction of 4.97 % (" in completed.stderr
    assert "no clock was recorded" in completed.stderr
    assert "\x1b" not in completed.stdout


def test_a_file_has_room_for_every_interval_however_narrow_the_terminal(csv, monkeypatch):
    wide = scaling("fit", csv(RAYTRACER)).stdout
    monkeypatch.setenv("COLUMNS", "40")
    assert scaling("fit", csv(RAYTRACER)).stdout == wide
    assert wide.count(" to ") == 4


def test_fit_of_a_folder_finds_the_law_it_was_made_from(sixteen_cores):
    (series,) = json_of("fit", sixteen_cores)["series"]
    described = series["name"], series["law"], series["description"]
    assert described == ("calibrated train compact smt1", "amdahl", "exactly")
    serial = series["serial_fraction"]
    assert serial["low"] < 0.1 < serial["high"]
    assert serial["value"] == pytest.approx(0.1, abs=2e-3)  # its launches are 0.1 % apart
    assert [point["cores"] for point in series["curve"]] == list(range(1, 33))


def test_fit_with_threads_that_share_cores(csv):
    points = [(t, min(t, 8) + 0.25 * max(0, t - 8)) for t in (1, 2, 4, 6, 8, 10, 12, 14, 16)]
    (series,) = json_of("fit", csv([(t, n / (1 + 0.02 * (n - 1))) for t, n in points]), "--physical", 8)["series"]
    assert series["serial_fraction"]["value"] == pytest.approx(0.02, abs=2e-3)
    assert (series["measured"], series["caution_codes"][0]) == ([1, 2, 4, 6, 8], "cores-shared")


def test_known_truth_through_the_command(csv):
    (series,) = json_of("fit", csv(CARPENTRY, "seconds"))["series"]
    assert series["serial_fraction"]["value"] == pytest.approx(0.15, abs=0.005)


def test_bad_input_is_one_sentence(csv, tmp_path):
    assert "line 2, column seconds: 'x'" in complaint(program("fit", csv([(1, "x"), (2, 1)], "seconds")))
    assert "cannot be read" in complaint(scaling("fit", tmp_path / "none.csv"))
    assert "no results in" in complaint(scaling("fit", tmp_path))


def test_help_has_an_example():
    for command in ("fit", "capacity"):
        assert f"Example: scaling {command}" in scaling(command, "--help").stdout


def test_disturbed_points_are_left_out_and_imprecise_ones_are_not(tmp_path):
    question, host = study('cores = "doubling"\nlaunches = 2'), machine(16)
    store = Store(tmp_path / "few")
    for row in AmdahlMachine().execute(plan(question, host).runs):
        stolen = replace(row.witness, steal_seconds=1.0) if row.run.point.cores == 16 else row.witness
        store.append(replace(row, witness=stolen))
    completed = scaling("fit", tmp_path / "few")
    assert completed.returncode == 0
    assert "fits leave out 1 of 5 points (1 disturbed; no quiet turn)" in completed.stderr


def test_two_core_counts_have_a_sentence(tmp_path):
    store = Store(tmp_path / "two")
    for row in AmdahlMachine(noise=0.01).execute(plan(study("cores = [1, 2]"), machine(2)).runs):
        store.append(row)
    completed = scaling("fit", tmp_path / "two", "-v")
    assert completed.returncode == 0
    assert "calibrated train: on the curve 2 cores do 1.8" in completed.stderr


@pytest.mark.parametrize("form", ["csv", "json"])
def test_an_export_is_read_as_the_folder_it_came_from(sixteen_cores, tmp_path, form):
    exported = tmp_path / f"rows.{form}"
    assert scaling("export", sixteen_cores, "--format", form, "-o", exported).returncode == 0
    assert json_of("show", exported) == json_of("show", sixteen_cores)
    assert json_of("fit", exported) == json_of("fit", sixteen_cores)
    assert json_of("capacity", exported, "--efficiency", 0.5)["answers"]
