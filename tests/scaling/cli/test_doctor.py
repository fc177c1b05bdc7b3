"""`scaling machine doctor` as a user runs it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaling.cli.main import app
from scaling.machine.doctor import procfs
from tests.scaling.cli.here import json_of
from tests.scaling.cli.here import scaling as here
from tests.scaling.cli.scaling import BARE, scaling
from tests.scaling.machine.doctor.examined import EVERYTHING, PLANTED, Fault, examine, plant
from tests.scaling.reporting.page.invented import laws, write_folder

THREADS = {"OMP_NUM_THREADS": "64"}


def test_a_machine_in_good_health_ends_with_status_0(tmp_path):
    answer = scaling("machine", "doctor", "--root", plant(tmp_path, Fault("")), env=BARE)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("Nothing here would spoil")


def test_planted_faults_are_named_with_status_1(tmp_path):
    answer = scaling("machine", "doctor", "--root", plant(tmp_path, EVERYTHING), env=BARE | THREADS)
    assert (answer.returncode, answer.stderr) == (1, "")
    assert answer.stdout.startswith("7 things here would spoil")
    first = " ".join(answer.stdout.partition("\n\n")[0].split())
    assert all(name in first for name in PLANTED)
    assert "\x1b" not in answer.stdout


def test_planted_faults_are_printed_as_json(tmp_path):
    answer = scaling("machine", "doctor", "--json", "--root", plant(tmp_path, EVERYTHING), env=BARE | THREADS)
    facts = json.loads(answer.stdout)
    assert (answer.returncode, facts["verdict"]) == (1, "spoiler")
    names = {finding["name"] for finding in facts["findings"] if finding["state"] in ("spoiler", "caution")}
    assert names == {*PLANTED, "SMT"}
    assert {finding["remedy"] for finding in facts["findings"] if finding["state"] == "ok"} == {None}


def test_a_recorded_machine_is_not_touched(tmp_path):
    root = plant(tmp_path, EVERYTHING)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    scaling("machine", "doctor", "--root", root, env=BARE)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_folder_that_holds_no_machine_is_refused_in_one_line(tmp_path):
    answer = scaling("machine", "doctor", "--root", tmp_path, env=BARE)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert "no CPUs found" in answer.stderr


def test_the_page_about_it_lists_everything_that_is_looked_at():
    listed = (Path(__file__).parents[3] / "docs/how-to/machine.md").read_text().partition("## Checks")[2]
    assert [name for name in examine(Fault("")) if name not in listed] == []


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_this_machine_can_be_examined(monkeypatch, form):
    monkeypatch.setattr(procfs, "SECONDS_BETWEEN_READINGS", 0)
    answer = CliRunner().invoke(app, ["machine", "doctor", *form])
    assert answer.exit_code in (0, 1)
    assert "load" in answer.stdout


def test_of_a_results_folder_it_says_how_quiet_the_host_was_at_every_point(tmp_path):
    rows = [row for row in laws() if row.run.point.workload == "busy host"]
    folder = write_folder(rows, tmp_path / "busy")
    answer = here("machine", "doctor", folder)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert re.match(r"\d+ of 410 turns were quiet. Turns took longest at busy host train, ", answer.stdout)
    sixteen = next(line for line in answer.stdout.splitlines() if "16 cores, compact" in line and "×" in line)
    assert re.search(r" 50 +\d+ %  +× 1\.00  +× 1\.\d\d  +× 1\.\d\d  ok$", sixteen)
    facts = json_of("machine", "doctor", folder)
    assert facts["sentence"] == answer.stdout.splitlines()[0]
    assert [point["host"]["turns"] for point in facts["points"] if point["cores"] == 16] == [50]


def test_where_no_turn_was_quiet_nothing_is_known_of_how_much_longer_turns_took(tmp_path):
    made = [row for row in laws() if row.run.point.workload == "busy host"]
    stolen = [
        replace(
            row, outcome=replace(row.outcome, turns=tuple(replace(one, steal_seconds=1.0) for one in row.outcome.turns))
        )
        for row in made
    ]
    folder = write_folder(stolen, tmp_path / "never")
    answer = here("machine", "doctor", folder)
    assert answer.returncode == 1
    assert answer.stdout.startswith("No turn of 410")
    assert "×" not in answer.stdout
    facts = json_of("machine", "doctor", folder)
    assert {(point["host"]["quiet_share"], point["host"]["p50"]) for point in facts["points"]} == {(0.0, None)}


def test_a_folder_with_a_disturbed_point_ends_with_status_1(tmp_path):
    made = [row for row in laws() if row.run.point.workload == "amdahl"]
    stolen = [
        replace(row, witness=replace(row.witness, steal_seconds=1.0)) if row.run.point.cores == 16 else row
        for row in made
    ]
    assert here("machine", "doctor", write_folder(stolen, tmp_path / "busy")).returncode == 1
