from dataclasses import replace

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.results.store import Store
from scaling.study.planning import plan
from tests.published import CARPENTRY, RAYTRACER
from tests.scaling.cli.here import json_of, scaling
from tests.scaling.cli.scaling import complaint
from tests.scaling.cli.scaling import scaling as program


def test_fit_puts_the_answer_first_and_cautions_beside(csv):
    completed = program("fit", csv(RAYTRACER))
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("mine: Amdahl's law, serial fraction 5.65 %")
    assert "no clock was recorded" in completed.stderr
    assert "\x1b" not in completed.stdout


def test_fit_of_a_folder_finds_the_law_it_was_made_from(sixteen_cores):
    (series,) = json_of("fit", sixteen_cores)["series"]
    assert (series["name"], series["chosen"], series["verdict"]) == ("calibrated train compact smt1", "amdahl", "ok")
    serial = series["laws"]["amdahl"]["serial_fraction"]
    assert serial["low"] < 0.1 < serial["high"]
    assert serial["value"] == pytest.approx(0.1, abs=1e-3)  # its launches are 0.1 % apart


def test_fit_of_one_law(csv):
    (series,) = json_of("fit", csv(RAYTRACER), "--law", "usl")["series"]
    assert (list(series["laws"]), series["chosen"]) == (["usl"], "usl")


def test_fit_with_threads_that_share_cores(csv):
    points = [(t, min(t, 8) + 0.25 * max(0, t - 8)) for t in (1, 2, 4, 6, 8, 10, 12, 14, 16)]
    (series,) = json_of("fit", csv([(t, n / (1 + 0.02 * (n - 1))) for t, n in points]), "--physical", 8)["series"]
    assert series["laws"]["amdahl"]["smt_yield"]["value"] == pytest.approx(0.25, abs=1e-4)


def test_known_truth_through_the_command(csv):
    (series,) = json_of("fit", csv(CARPENTRY, "seconds"))["series"]
    assert series["laws"]["amdahl"]["serial_fraction"]["value"] == pytest.approx(0.150, abs=1e-3)
    assert series["verdict"] == "not identifiable"


def test_bad_input_is_one_sentence(csv, tmp_path):
    assert "line 2, column seconds: 'x' is not a number" in complaint(
        program("fit", csv([(1, "x"), (2, 1)], "seconds"))
    )
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
    assert "1 of 5 points left out (1 disturbed; no quiet turn)" in completed.stderr


def test_two_core_counts_have_sentences_and_no_table(tmp_path):
    store = Store(tmp_path / "two")
    for row in AmdahlMachine(noise=0.01).execute(plan(study("cores = [1, 2]"), machine(2)).runs):
        store.append(row)
    completed = scaling("fit", tmp_path / "two")
    assert completed.returncode == 0
    why, one = completed.stdout.splitlines()
    assert why.startswith("no law can be told of 1 series")
    assert "2 cores are 1.8" in one


@pytest.mark.parametrize("form", ["csv", "json"])
def test_an_export_is_read_as_the_folder_it_came_from(sixteen_cores, tmp_path, form):
    exported = tmp_path / f"rows.{form}"
    assert scaling("export", sixteen_cores, "--format", form, "-o", exported).returncode == 0
    assert json_of("show", exported) == json_of("show", sixteen_cores)
    assert json_of("fit", exported) == json_of("fit", sixteen_cores)
    assert json_of("capacity", exported, "--efficiency", 0.5)["answers"]
