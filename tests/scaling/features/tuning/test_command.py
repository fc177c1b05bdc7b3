import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from scaling.features.tuning import schedule, search
from scaling.features.tuning.grid import doublings
from scaling.machine.sysfs import read_topology
from scaling.results.store import read_rows
from tests.mentions import mentions
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import SCALING, read_until
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.reporting.test_schemas import check

# Steps that take as long as the block says, and a little more or less.
CODE = """
import os, random, sys
chance = random.Random(os.environ["SCALING_PADDING"] + sys.argv[1])  # another one in every launch, whenever it is made
print("step_seconds:", float(sys.argv[1]) * chance.gauss(1, 0.01))
"""
SLOW_FIRST = ["--param", "block=0.03,0.01,0.02", "--", sys.executable, "-c", CODE, "{block}"]
SLOW_LAST = ["--param", "block=0.01,0.02", "--", sys.executable, "-c", CODE, "{block}"]
TINY = ["--set", "rounds=1", "--set", "turn_seconds=0.01"]


@pytest.fixture
def quiet_host(monkeypatch):
    """Whatever else runs here meanwhile disturbs nothing."""
    monkeypatch.setattr(search, "_both_quiet", lambda first, second: True)


@pytest.mark.usefixtures("quiet_host")
def test_a_parameter_of_a_program_is_tuned_and_the_folder_is_one_of_results(tmp_path):
    folder = tmp_path / "out"
    done = scaling("tune", "-o", folder, "--cores", 1, *SLOW_FIRST)
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith("best for latency: block 0.01: ")
    assert "fast as the default" in first
    assert " launches measured 3 of 3 settings" in done.stdout + done.stderr
    assert f"taskset --cpu-list 0 {shlex.quote(sys.executable)}" in done.stdout
    assert "subprocess.run(" in done.stdout
    rows = list(read_rows(folder))
    assert {row.run.cohort.name.partition("-")[0] for row in rows} == {"race", "confirmation"}
    assert scaling("show", folder).returncode == 0
    assert scaling("export", folder, "--format", "csv", "-o", tmp_path / "rows.csv").returncode == 0
    document = json.loads(scaling("tune", "--json", "-o", folder, "--cores", 1, *SLOW_FIRST).stdout)
    assert len(list(read_rows(folder))) == len(rows)
    check("tune", document)
    assert document["default_beaten"]
    assert 2.7 < document["gain"]["low"] < document["gain"]["high"] < 3.3


def test_launches_that_were_disturbed_are_no_answer_and_the_status_is_1(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "_both_quiet", lambda first, second: False)
    monkeypatch.setattr(schedule, "LEAST_LAUNCHES", 16)
    done = scaling("tune", "-o", tmp_path / "out", "--cores", 1, *SLOW_LAST)
    assert done.returncode == 1
    assert mentions(done.stdout, "block 0.02, 0.")


def test_threads_of_a_workload_are_tuned(tmp_path):
    size = ["--set", "size=small", "--set", "smt=1", "--budget", "8s", *TINY]
    done = scaling("tune", "calibrated", "serial=0", "work=0.05", *size, "-o", tmp_path / "out", "--json")
    document = json.loads(done.stdout)
    assert done.returncode == (0 if document["is_answer"] else 1), done.stderr
    check("tune", document)
    assert document["grid_settings"] == len(doublings(len(read_topology().cores)))


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on_with_the_same_command(tmp_path):
    folder = tmp_path / "out"
    words = [str(SCALING), "tune", "-o", str(folder), "--cores", "1", *SLOW_FIRST]
    killed = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert killed.stderr
    read_until(killed.stderr, "[5/")
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    killed.stderr.close()
    before = [row.run.key for row in read_rows(folder)]
    done = program(*words[1:])
    assert done.returncode in (0, 1), done.stderr
    keys = [row.run.key for row in read_rows(folder)]
    assert keys[: len(before)] == before
    assert len(set(keys)) == len(keys)
    assert done.stdout.startswith(("best for latency: block 0.01: ", "no answer yet for latency: "))
