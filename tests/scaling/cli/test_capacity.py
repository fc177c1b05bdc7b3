import json
import re

import pytest

from tests.published import NO_SINGLE, RAYTRACER
from tests.scaling.cli.here import json_of, scaling
from tests.scaling.cli.scaling import complaint
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.reporting.page.invented import laws, write_folder


def test_capacity_answers_in_counts_the_machine_has(sixteen_cores):
    completed = scaling("capacity", sixteen_cores, "--throughput", 4.9)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("give calibrated train 9 cores: more than 99 % sure of 4.9 items/s")
    (answer,) = json_of("capacity", sixteen_cores, "--throughput", 7)["answers"]
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
    assert json_of("capacity", csv(RAYTRACER))["limits"][0]["speedup_limit"]["value"] == pytest.approx(17.7, rel=0.05)


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


def test_promises_are_made_for_the_host_as_it_was_unless_asked_otherwise(tmp_path):
    folder = write_folder([row for row in laws() if row.run.point.workload == "busy host"], tmp_path / "busy")
    question = ("capacity", folder, "--throughput", 3000)
    (here,), (undisturbed,) = (json_of(*question, *more)["answers"] for more in ([], ["--undisturbed"]))
    assert (here["level"], undisturbed["level"]) == ("host", "undisturbed")
    assert here["cores"] > undisturbed["cores"]
    assert here["levels"].endswith(", which the assurance includes")
    assert here["levels"] in scaling(*question).stdout
    assert undisturbed["levels"].endswith(", which the assurance does not count")


def test_both_levels_of_a_measured_size_are_said(tmp_path):
    folder = write_folder([row for row in laws() if row.run.point.workload == "busy host"], tmp_path / "busy")
    (answer,) = json_of("capacity", folder, "--efficiency", 0.465)["answers"]
    assert answer["cores"] == 12
    assert re.fullmatch(
        r"busy host train on 12 cores: 5\.7\d times one core \(± [\d.]+ %\) undisturbed, from \d+ quiet of 50 turns; "
        r"on this host a turn took 1\.00 to 1\.\d\d times as long \(median 1\.\d\d\)",
        answer["levels"],
    )
