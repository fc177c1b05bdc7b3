"""`scaling machine place` as a user runs it, on an invented machine."""

import json

import pytest

from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import BARE
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.machine.invented import files, regular, write


def test_place_answers_as_json(power9):
    answer = program(
        "machine", "place", "--json", "--root", power9, "--cores", 2, "--smt", 4, "--placement", "scatter", env=BARE
    )
    facts = json.loads(answer.stdout)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert facts["cpus"] == [[0, 1, 2, 3], [88, 89, 90, 91]]
    assert (facts["list"], facts["short"]) == ("0,1,2,3,88,89,90,91", "2s,1c,4t")
    assert "2.5 CPUs" in facts["cautions"][0]


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


@pytest.mark.parametrize("command", [["machine", "topology"], ["machine", "place", "--cores", 1]])
def test_a_folder_that_holds_no_machine_is_refused_in_one_line(tmp_path, command):
    answer = program(*command, "--root", tmp_path, env=BARE)
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
