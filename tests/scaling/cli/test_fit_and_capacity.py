import json

import pytest

from scaling.results.store import Store
from scaling.study.planning import plan
from tests.pretend import HOST, AmdahlMachine, machine, study
from tests.published import CARPENTRY, NO_SINGLE, RAYTRACER
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import complaint
from tests.scaling.cli.scaling import scaling as program


@pytest.fixture
def csv(tmp_path):
    def written(points, column="throughput", name="mine"):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"cores,{column}\n" + "".join(f"{n},{value}\n" for n, value in points))
        return path

    return written


@pytest.fixture
def folder(tmp_path):
    """What a sweep on a pretend machine of sixteen cores leaves behind."""
    question, host = study('cores = "doubling"\nlaunches = 3'), machine(16)
    store = Store(tmp_path / "results")
    store.write_machine(HOST, host)
    for row in AmdahlMachine(serial=0.1).execute(plan(question, host).runs):
        store.append(row)
    return tmp_path / "results"


def facts(*arguments):
    completed = scaling(*arguments, "--json")
    assert completed.returncode in (0, 1), completed.stderr
    return json.loads(completed.stdout)


def test_fit_puts_the_answer_first_and_cautions_beside(csv):
    completed = program("fit", csv(RAYTRACER))
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("mine: Amdahl's law, serial fraction 5.66 %")
    assert "no clock was recorded" in completed.stderr
    assert "\x1b" not in completed.stdout


def test_fit_of_a_folder_finds_the_law_it_was_made_from(folder):
    (series,) = facts("fit", folder)["series"]
    assert (series["name"], series["chosen"], series["verdict"]) == ("calibrated train compact smt1", "amdahl", "ok")
    serial = series["laws"]["amdahl"]["serial_fraction"]
    assert serial["low"] < 0.1 < serial["high"]
    assert serial["value"] == pytest.approx(0.1, abs=1e-3)  # its launches are 0.1 % apart


def test_fit_of_one_law(csv):
    (series,) = facts("fit", csv(RAYTRACER), "--law", "usl")["series"]
    assert (list(series["laws"]), series["chosen"]) == (["usl"], "usl")


def test_fit_with_threads_that_share_cores(csv):
    points = [(t, min(t, 8) + 0.25 * max(0, t - 8)) for t in (1, 2, 4, 6, 8, 10, 12, 14, 16)]
    (series,) = facts("fit", csv([(t, n / (1 + 0.02 * (n - 1))) for t, n in points]), "--physical", 8)["series"]
    assert series["laws"]["amdahl"]["smt_yield"]["value"] == pytest.approx(0.25, abs=1e-4)


def test_known_truth_through_the_command(csv):
    (series,) = facts("fit", csv(CARPENTRY, "seconds"))["series"]
    assert series["laws"]["amdahl"]["serial_fraction"]["value"] == pytest.approx(0.150, abs=1e-3)
    assert series["verdict"] == "not identifiable"


def test_capacity_answers_in_counts_the_machine_has(folder):
    completed = scaling("capacity", folder, "--throughput", 4.9)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("give calibrated train 9 cores: more than 99 % sure of 4.9 items/s")
    (answer,) = facts("capacity", folder, "--throughput", 7)["answers"]
    assert (answer["status"], answer["cores"]) == ("not reachable", None)


def test_capacity_where_the_answer_is_no_ends_with_one(csv):
    completed = program("capacity", csv(NO_SINGLE), "--throughput", 100)
    assert completed.returncode == 1
    assert "no answer: no law fits" in completed.stdout
    assert scaling("capacity", csv(RAYTRACER), "--throughput", 5000).returncode == 1


def test_capacity_without_a_question_shows_the_landmarks(csv):
    completed = scaling("capacity", csv(RAYTRACER))
    assert completed.returncode == 0, completed.stderr
    assert "knee" in completed.stdout
    assert facts("capacity", csv(RAYTRACER))["limits"][0]["speedup_limit"]["value"] == pytest.approx(17.7, rel=0.05)


def test_several_series_make_a_table(tmp_path):
    path = tmp_path / "both.csv"
    rows = "".join(f"rays,{n},{x}\nodd,{n + 1},{y}\n" for (n, x), (_, y) in zip(RAYTRACER[:8], NO_SINGLE, strict=True))
    path.write_text("series,cores,throughput\n" + rows)
    completed = scaling("capacity", path, "--throughput", 100)
    assert completed.stdout.splitlines()[0].startswith("give rays ")
    assert len(json.loads(scaling("fit", path, "--json").stdout)["series"]) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--throughput", 1, "--latency", 1], "--throughput and --latency are different questions"),
        (["--throughput", -1], "--throughput is -1, but it must be a number above 0"),
        (["--efficiency", 1.5], "--efficiency is 1.5, but it must be a number between 0 and 1"),
        (["--throughput", 1, "--assurance", 1], "--assurance is 1"),
        (["--hourly-budget", 1, "--core-hour", 0], "a core-hour must cost more than nothing"),
        (["--hourly-budget", -3], "--hourly-budget is -3, but it must be a number above 0"),
    ],
)
def test_questions_that_make_no_sense_are_refused(csv, options, words):
    assert words in complaint(scaling("capacity", csv(RAYTRACER), *options))


def test_bad_input_is_one_sentence(csv, tmp_path):
    assert "line 2, column seconds: 'x' is not a number" in complaint(
        program("fit", csv([(1, "x"), (2, 1)], "seconds"))
    )
    assert "cannot be read" in complaint(scaling("fit", tmp_path / "none.csv"))
    assert "no results in" in complaint(scaling("fit", tmp_path))


def test_help_has_an_example():
    for command in ("fit", "capacity"):
        assert f"Example: scaling {command}" in scaling(command, "--help").stdout


def test_points_that_are_not_valid_are_left_out_unless_asked_for(tmp_path):
    question, host = study('cores = "doubling"\nlaunches = 2'), machine(16)
    store = Store(tmp_path / "few")
    for row in AmdahlMachine().execute(plan(question, host).runs):
        store.append(row)
    assert scaling("fit", tmp_path / "few", "--include-invalid").returncode == 0
    completed = scaling("fit", tmp_path / "few")
    assert "4 of 5 points left out as not valid (too few launches)" in completed.stderr


def test_an_exported_csv_is_read_as_the_folder_it_came_from(folder, tmp_path):
    exported = tmp_path / "rows.csv"
    assert scaling("export", folder, "--format", "csv", "-o", exported).returncode == 0
    assert facts("fit", exported) == facts("fit", folder)
    assert facts("capacity", exported, "--efficiency", 0.5)["answers"]
