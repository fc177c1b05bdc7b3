"""What runs on this machine leave on the disk is gone afterwards."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from uuid import uuid4

import pytest

from benchmarks.shared.machines import study
from scaling.errors import StoreError
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import row_to_json
from scaling.running import control_groups, local, processes
from scaling.running.local import LocalEngine
from scaling.study.planning import Run, plan
from scaling.study.programs import Program
from tests.runs import row_of

LITTERS = f"command: '{sys.executable}' -c 'import tempfile; tempfile.mkdtemp()'"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def run_of(workload: str, start: str = "spawn") -> Run:
    toml = f"workloads = {json.dumps([workload])}\nsize = 'small'"
    return plan(study(toml, cores="1", launches="1", start=json.dumps(start)), read_topology()).runs[0]


@pytest.fixture
def engine(temporary):
    topology = read_topology()
    with LocalEngine(study(max_seconds="0.05"), topology, read_machine(topology)) as made:
        yield made
    assert not list(temporary.iterdir())


def test_every_run_finds_an_empty_folder(engine):
    litter = set()
    for row in engine.execute([run_of(LITTERS)] * 2):
        assert row.outcome.status == "ok", row.outcome
        left = set(engine.scratch.runs.glob("*/*"))
        assert left
        assert not left & litter
        litter |= left


@pytest.mark.needs("tensorflow")
@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_a_network_leaves_nothing_behind(engine, start):
    """TensorFlow keeps a file for every function it rewrites, and removes them at an end that never comes."""
    (row,) = engine.execute([run_of("autoenc", start)])
    assert row.outcome.status == "ok", row.outcome
    assert list(engine.scratch.runs.glob("*/__autograph_generated_file*"))


def test_no_two_engines_share_a_scratch_folder():
    topology = read_topology()
    machine = read_machine(topology)
    with LocalEngine(study(), topology, machine) as one, LocalEngine(study(), topology, machine) as other:
        assert one.scratch.folder != other.scratch.folder


def test_a_program_gets_the_secret_that_its_row_leaves_out(tmp_path):
    shown = tmp_path / "seen"
    code = f"import sys; open('{shown}', 'w').write(sys.argv[1])"
    row = row_of(f"command: '{sys.executable}' -c \"{code}\" --token=hunter2")
    assert row.outcome.status == "ok"
    assert shown.read_text() == "--token=hunter2"
    assert "hunter2" not in row_to_json(row)
    assert "--token=***" in row.run.point.workload


def test_a_value_from_the_shell_is_not_in_what_its_program_printed(monkeypatch):
    monkeypatch.setenv("LOGIN", "hunter2")
    program = Program(name="env", command="sh -c 'echo sent $LOGIN >&2; exit 3'", env={"LOGIN": {}})
    assert row_of(program).outcome.stderr_tail == "sent ***\n"


def test_an_engine_that_cannot_be_made_adopts_no_orphans(monkeypatch):
    monkeypatch.setattr(local, "Scratch", Mock(side_effect=StoreError("no room")))
    topology = read_topology()
    with pytest.raises(StoreError, match="no room"):
        LocalEngine(study(), topology, read_machine(topology))
    assert processes.adopt_orphans(False) is False


def test_an_engine_whose_reaper_cannot_start_leaves_no_folder_no_group_and_no_open_file(temporary, monkeypatch):
    topology, files = read_topology(), set(Path("/proc/self/fd").iterdir())
    machine, mark = read_machine(topology), uuid4().hex
    monkeypatch.setattr("uuid.uuid4", lambda: SimpleNamespace(hex=mark))
    monkeypatch.setattr(subprocess, "Popen", Mock(side_effect=BlockingIOError("no more processes")))
    with pytest.raises(BlockingIOError):
        LocalEngine(study(), topology, machine)
    assert not list(temporary.iterdir())
    assert not list(Path("/sys/fs/cgroup").glob(f"*/{control_groups.GUARD_PREFIX}*{mark}*"))
    assert set(Path("/proc/self/fd").iterdir()) <= files  # those of earlier tests may be closed meanwhile


@pytest.mark.parametrize("adopted", [False, True])
def test_orphans_are_adopted_while_an_engine_is_open_and_as_before_afterwards(adopted):
    topology, before = read_topology(), processes.adopt_orphans(adopted)
    try:
        with LocalEngine(study(), topology, read_machine(topology)):
            assert processes.adopt_orphans()
        assert processes.adopt_orphans(adopted) is adopted
    finally:
        processes.adopt_orphans(before)
