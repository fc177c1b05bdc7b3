"""`scaling machine topology`, `place` and `doctor` as a user runs them, on invented machines and on this one."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaling.cli.main import app
from scaling.machine.doctor import procfs
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import BARE
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.machine.doctor.examined import EVERYTHING, PLANTED, Fault, examine, plant
from tests.scaling.machine.invented import files, regular, write

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


@pytest.mark.parametrize(
    "command", [["machine", "topology"], ["machine", "place", "--cores", 2, "--placement", "scatter"]]
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_pipe_gets_no_colour(power9, command, form):
    answer = program(*command, *form, "--root", power9, env=BARE)
    assert answer.returncode == 0
    assert answer.stdout
    assert "\x1b" not in answer.stdout + answer.stderr


def test_a_long_list_of_cpus_stays_on_one_line(tmp_path):
    root = write(tmp_path, files(regular(counts=(2, 1, 1, 1), cores=24, smt=(1,))))
    answer = scaling("machine", "place", "--root", root, "--cores", 48)
    assert ",".join(map(str, range(48))) in answer.stdout


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
    assert [name for name in examine(Fault()) if name not in listed] == []


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_this_machine_can_be_examined(monkeypatch, form):
    monkeypatch.setattr(procfs, "SECONDS_BETWEEN_READINGS", 0)
    answer = CliRunner().invoke(app, ["machine", "doctor", *form])
    assert answer.exit_code in (0, 1)
    assert "load" in answer.stdout
