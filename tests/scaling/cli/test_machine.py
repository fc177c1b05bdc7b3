"""`scaling machine topology`, `place` and `doctor` as a user runs them, on invented machines and on this one."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaling.cli.main import app
from scaling.machine.doctor import procfs
from tests.scaling.cli.here import json_of, scaling
from tests.scaling.cli.scaling import BARE
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.machine.doctor.examined import EVERYTHING, PLANTED, Fault, examine, plant
from tests.scaling.machine.invented import files, regular, write
from tests.scaling.reporting.page.invented import laws, write_folder

THREADS = {"OMP_NUM_THREADS": "64"}


def test_topology_prints_its_facts_as_json(power9):
    answer = program("machine", "topology", "--json", "--root", power9, env=BARE)
    facts = json.loads(answer.stdout)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert (facts["online"], facts["possible"], facts["sockets"], facts["cores"]) == ("0-15,88-103", "0-175", 2, 8)
    assert facts["numa_nodes"] == {"0": "0-15", "8": "88-103", **{str(node): "" for node in range(250, 256)}}
    assert facts["quota_cpus"] == 2.5


def test_topology_of_this_machine_needs_no_root():
    assert json.loads(program("machine", "topology", "--json", env=BARE).stdout)["n_online"] >= 1


def test_place_answers_as_json(power9):
    answer = program(
        "machine", "place", "--json", "--root", power9, "--cores", 2, "--smt", 4, "--placement", "scatter", env=BARE
    )
    facts = json.loads(answer.stdout)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert facts["cpus"] == [[0, 1, 2, 3], [88, 89, 90, 91]]
    assert (facts["list"], facts["short"]) == ("0,1,2,3,88,89,90,91", "2s,1c,4t")
    assert "2.5" in facts["cautions"][0]


def test_place_takes_every_part_of_a_request(hybrid):
    answer = scaling(
        "machine",
        "place",
        "--json",
        "--root",
        hybrid,
        "--cores",
        2,
        "--core-type",
        "atom",
        "--reserve",
        8,
        "--within",
        "S0",
    )
    assert json.loads(answer.stdout)["cpus"] == [[9], [10]]


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["--cores", 9], ["9", "only 8", "4"]),
        (["--cores", 1, "--smt", 8], ["8", "only 0", "4"]),
        (["--cores", 0], ["0", "at least one"]),
        (["--cores", 1, "--placement", "cpus:200"], ["200", "0-15,88-103"]),
        (["--cores", 1, "--placement", "spread"], ["spread", "compact"]),
        (["--cores", 1, "--within", "M3"], ["M3", "M0, M8"]),
        (["--cores", 1, "--core-type", "atom"], ["atom"]),
        (["--cores", 1, "--reserve", "rubbish"], ["--reserve rubbish"]),
    ],
)
def test_a_refusal_is_status_2_and_one_line_that_names_the_numbers(power9, arguments, numbers):
    answer = scaling("machine", "place", "--json", "--root", power9, *arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("scaling: ")
    assert answer.stderr.count("\n") == 1
    assert all(number in answer.stderr for number in numbers)


@pytest.mark.parametrize("command", [["topology"], ["place", "--cores", 1], ["doctor"]])
def test_a_folder_that_holds_no_machine_is_refused_in_one_line(tmp_path, command):
    answer = program("machine", *command, "--root", tmp_path, env=BARE)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)
    assert "no CPUs found" in answer.stderr


@pytest.mark.parametrize(
    "command", [["machine", "topology"], ["machine", "place", "--cores", 2, "--placement", "scatter"]]
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_pipe_gets_no_colour(power9, command, form):
    answer = program(*command, *form, "--root", power9, env=BARE)
    assert answer.returncode == 0
    assert answer.stdout
    assert "\x1b" not in answer.stdout + answer.stderr


def test_a_table_names_each_core_and_cautions_go_to_stderr(hybrid):
    answer = scaling("machine", "place", "--root", hybrid, "--cores", 5)
    assert [line.split()[:2] for line in answer.stdout.splitlines()[-5:]] == [
        ["0", "0"],
        ["1", "2"],
        ["2", "4"],
        ["3", "6"],
        ["4", "8"],
    ]
    assert answer.stderr == "scaling: caution: mixes core types (4 core, 1 atom); choose one with core_type\n"


def test_a_long_list_of_cpus_stays_on_one_line(tmp_path):
    root = write(tmp_path, files(regular(counts=(2, 1, 1, 1), cores=24, smt=(1,))))
    answer = scaling("machine", "place", "--root", root, "--cores", 48)
    assert ",".join(map(str, range(48))) in answer.stdout


def test_a_machine_in_good_health_ends_with_status_0(tmp_path):
    answer = program("machine", "doctor", "--root", plant(tmp_path, Fault("")), env=BARE)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("Nothing here would spoil")


def test_planted_faults_are_named_with_status_1(tmp_path):
    answer = program("machine", "doctor", "--root", plant(tmp_path, EVERYTHING), env=BARE | THREADS)
    assert (answer.returncode, answer.stderr) == (1, "")
    assert answer.stdout.startswith("7 things here would spoil")
    first = " ".join(answer.stdout.partition("\n\n")[0].split())
    assert all(name in first for name in PLANTED)
    assert "\x1b" not in answer.stdout


def test_planted_faults_are_printed_as_json(tmp_path):
    answer = program("machine", "doctor", "--json", "--root", plant(tmp_path, EVERYTHING), env=BARE | THREADS)
    facts = json.loads(answer.stdout)
    assert (answer.returncode, facts["verdict"]) == (1, "spoiler")
    names = {finding["name"] for finding in facts["findings"] if finding["state"] in ("spoiler", "caution")}
    assert names == {*PLANTED, "SMT"}
    assert {finding["remedy"] for finding in facts["findings"] if finding["state"] == "ok"} == {None}


def test_a_recorded_machine_is_not_touched(tmp_path):
    root = plant(tmp_path, EVERYTHING)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    program("machine", "doctor", "--root", root, env=BARE)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


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
    answer = scaling("machine", "doctor", folder)
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
    answer = scaling("machine", "doctor", folder)
    assert answer.returncode == 1
    assert answer.stdout.startswith("None of 410 turns")
    assert "×" not in answer.stdout
    facts = json_of("machine", "doctor", folder)
    assert {(point["host"]["quiet_share"], point["host"]["p50"]) for point in facts["points"]} == {(0.0, None)}


def test_a_folder_with_a_disturbed_point_ends_with_status_1(tmp_path):
    made = [row for row in laws() if row.run.point.workload == "amdahl"]
    stolen = [
        replace(row, witness=replace(row.witness, steal_seconds=1.0)) if row.run.point.cores == 16 else row
        for row in made
    ]
    assert scaling("machine", "doctor", write_folder(stolen, tmp_path / "busy")).returncode == 1
