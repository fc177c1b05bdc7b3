"""Runs forked from servers: what a server is for, how long it lives, and what it refuses."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.shared.machines import machine, study
from scaling.machine.sysfs import read_machine, read_topology
from scaling.running import local, processes, servers
from scaling.running.local import LocalEngine
from scaling.running.servers import Preparation, Servers
from scaling.study.planning import plan
from tests.conftest import need
from tests.runs import row_of, rows_of

FAULTY = Path(__file__).with_name("faulty.py")
FRAMEWORK = ("scaling.running.frameworks.tensorflow", "keras")


@pytest.fixture(autouse=True)
def nobody_is_left_behind():
    before = processes.children()
    yield
    assert processes.children() == before


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """Have every server import a module with this code."""

    def planted(code: str) -> None:
        (tmp_path / "planted.py").write_text(code)
        others = os.environ.get("PYTHONPATH", "")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), others)))
        monkeypatch.setattr(local, "modules_for", lambda text, framework: ("planted",))

    return planted


@pytest.mark.parametrize(
    ("workload", "modules"),
    [("autoenc", FRAMEWORK), ("deepq game=built-in", FRAMEWORK), ("calibrated work=1", ("numpy",))],
)
def test_a_server_imports_what_a_workload_of_ours_would(workload, modules):
    assert servers.modules_for(workload, "tensorflow") == modules


@pytest.mark.parametrize(
    ("code", "modules"),
    [
        ("import keras", FRAMEWORK),
        ('"""Mine."""\nfrom __future__ import annotations\nimport os\nfrom keras import layers\n', FRAMEWORK),
        ("import tensorflow.keras as keras", FRAMEWORK[:1]),
        ("import torch", ()),
        ("import numpy", ()),
        ("import os\nos.environ['TF_ENABLE_ONEDNN_OPTS'] = '1'\nimport keras", ()),
        ("def build(setting):\n    import keras", ()),
        ("from . import keras", ()),
        ("import keras(", ()),
        ("\0", ()),
    ],
)
def test_a_file_gets_the_framework_only_where_it_imports_it_before_anything_else(tmp_path, code, modules):
    (tmp_path / "mine.py").write_text(code)
    assert servers.modules_for(f"{tmp_path}/mine.py:build", "tensorflow") == modules


@pytest.mark.parametrize("workload", ["command: true", "nowhere.py:build"])
def test_a_program_or_a_file_that_is_not_there_needs_nothing_imported(workload):
    assert servers.modules_for(workload, "tensorflow") == ()


def test_a_new_generation_of_servers_begins_when_a_point_returns_to_the_same_interpreter():
    points = list(dict.fromkeys(run.point for run in plan(study("cores = [1, 2]"), machine(2)).runs))
    generations = Servers()
    calls = [(points[0], None), (points[1], None), (points[0], "other"), (points[1], None), (points[0], None)]
    assert [generations.generation_for(*call) for call in calls] == [1, 1, 1, 2, 2]
    assert generations.generation_for(points[0]) == 3


def test_a_process_that_waits_for_its_next_run_is_taken_before_a_server_forks_one():
    generations, preparation = Servers(), Preparation((), None, ())
    generations._servers[preparation] = SimpleNamespace(
        fork="forks", close_if_exited=lambda: False, wait_until_ready=lambda: 0.0, close=lambda: ended.append("server")
    )
    ended: list[str] = []
    process = SimpleNamespace(end=lambda: ended.append("process"), close=lambda: ended.append("pipes"))
    first, second = (generations.start_or_reuse(preparation) for _ in range(2))
    first.waiting.append(process)
    assert (second.start, second.waiting) == ("forks", [process])
    generations.close()
    assert ended == ["process", "pipes", "server"]


def test_a_program_runs_forked_with_the_environment_its_row_says(tmp_path):
    shown = tmp_path / "seen"
    code = f"import os; open('{shown}', 'w').write(' '.join(os.environ))"
    row = row_of(f"command: '{sys.executable}' -c \"{code}\"", start="fork", intra=2)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.run.start == "fork"
    seen = set(shown.read_text().split())
    stated = {name for name, _ in row.environment} | set(row.left_out)
    assert seen - {"SCALING_SWEEP", "TMPDIR", "LC_CTYPE"} == stated - {"LC_CTYPE"}


def test_runs_of_a_launch_share_a_server_and_the_next_launch_has_another(tmp_path, plant):
    plant("import numpy.random")
    path = tmp_path / "notes"
    rows = rows_of(f"{FAULTY}:notes path='{path}'", start="fork", modes='["train", "infer"]', launches=2)
    assert {row.outcome.status for row in rows} == {"ok"}
    pids, hashes, chances, paddings = zip(*map(str.split, path.read_text().splitlines()), strict=True)
    assert len(set(pids)) == len(set(chances)) == len(rows) == 6
    for shared in (hashes, paddings):
        assert [shared[0], shared[2], shared[4]] == [shared[1], shared[3], shared[5]]
        assert len(set(shared)) == 3
    assert [dict(row.environment)["SCALING_PADDING"] for row in rows] == [
        f"{padding} characters" for padding in paddings
    ]


def test_runs_with_other_threads_share_a_server_and_each_has_its_own_variables(tmp_path, plant):
    plant("")
    path = tmp_path / "notes"
    note = f"print(hash('scaling'), os.environ.get('OMP_NUM_THREADS'), file=open({str(path)!r}, 'a'))"
    (tmp_path / "mine.py").write_text(f"import os\ndef build(setting):\n    {note}\n")
    rows = rows_of(f"{tmp_path}/mine.py:build", start="fork", intra='["auto", 1, 2]', launches=1)
    hashes, threads = zip(*map(str.split, path.read_text().splitlines()), strict=True)
    assert sorted(set(threads)) == ["1", "2", "None"]
    stated = [dict(row.environment).get("OMP_NUM_THREADS", "None") for row in rows]
    assert (len(set(hashes)), [*threads]) == (2, stated)  # one core is measured again after the block, by another


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all' (planted.py line 1)"),
        (
            "raise ModuleNotFoundError('', name='keras')",
            "it needs keras, which is not installed; in your clone of scaling, run: pip install '.[tensorflow]'",
        ),
        ("import os; os._exit(3)", "exited with status 3"),
        ("import os; os.kill(os.getpid(), 4)", "killed by signal 4 (SIGILL)"),
        ("import signal; signal.pause()", "it did not answer within 1 s"),
        (
            "import signal, threading; threading.Thread(target=signal.pause, daemon=True).start()",
            f"it has threads ({Path(sys.executable).name}) that a forked child would lack",
        ),
        pytest.param(
            "import tensorflow; tensorflow.constant(1)",
            "TensorFlow's runtime has already started in it, so a forked child would hang",
            marks=pytest.mark.needs("tensorflow"),
        ),
    ],
    ids=lambda value: value[:40],
)
def test_a_server_that_fails_is_a_row_with_a_reason_and_the_next_run_has_a_new_one(plant, monkeypatch, code, reason):
    start, codes, patience = servers._start, iter([code]), iter([1.0 if "pause()" in code else 300.0])

    def start_next(*setup):
        plant(next(codes, ""))
        monkeypatch.setattr(servers, "READY_SECONDS", next(patience, 300.0))
        return start(*setup)

    monkeypatch.setattr(servers, "_start", start_next)
    plant(code)
    first, second = rows_of(f"{FAULTY}:brief", start="fork")
    assert first.outcome.status == "failed"
    assert f"its server failed: {reason}" in first.outcome.reason
    assert second.outcome.status == "ok", second.outcome.reason


def test_a_server_that_was_killed_between_runs_is_replaced():
    topology = read_topology()
    question = study(f'workloads = ["{FAULTY}:brief"]\ncores = 1\nlaunches = 1\nstart = "fork"\nmax_seconds = 0.01')
    run = plan(question, topology).runs[0]
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        before = processes.children()
        assert next(engine.execute([run])).outcome.status == "ok"
        (server,) = processes.children() - before
        os.kill(server, signal.SIGKILL)
        os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
        assert next(engine.execute([run])).outcome.status == "ok"
        assert server not in processes.children()


def test_a_server_that_is_killed_as_it_forks_is_a_row_with_a_reason(plant):
    plant("import os; os.fork = lambda: os.kill(os.getpid(), 9)")
    outcome = row_of(f"{FAULTY}:brief", start="fork").outcome
    assert outcome.reason == "could not be started on CPUs 0: its server failed: killed by signal 9 (SIGKILL)"


# The next forks of a server, or of its child, are refused.
REFUSED = """
import os
from scaling.running import starting
starting.PAUSES = (0.001, 0.001)
refused, real = {refused}, os.fork
def fork():
    if refused.pop(0):
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return real()
os.fork = fork
"""


@pytest.mark.parametrize("refused", [[1, 1, 0, 0], [0, 1, 1, 0]], ids=["server", "child"])
def test_a_fork_that_the_system_refuses_for_a_moment_is_tried_again(plant, refused):
    plant(REFUSED.format(refused=refused))
    outcome = row_of(f"{FAULTY}:brief", start="fork").outcome
    assert outcome.status == "ok", outcome.reason


@pytest.mark.parametrize("refused", [[1, 1, 1], [0, 1, 1, 1]], ids=["server", "child"])
def test_a_machine_without_room_for_another_process_is_a_shortage_with_a_remedy(plant, refused):
    plant(REFUSED.format(refused=refused))
    outcome = row_of(f"{FAULTY}:brief", start="fork").outcome
    assert (outcome.status, outcome.reason) == (
        "shortage",
        "scaling could not start a process: Resource temporarily unavailable, 3 times within 0.0 s; end other "
        "processes, or allow more with ulimit -u",
    )


def test_a_mask_the_kernel_cuts_is_a_failed_run(plant):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    plant("import os\nreal = os.sched_setaffinity\nos.sched_setaffinity = lambda pid, cpus: real(pid, {min(cpus)})")
    assert "but the kernel gave 0" in row_of(f"{FAULTY}:brief", start="fork", cores=2).outcome.reason


def test_a_child_that_cannot_move_to_its_cpus_says_so_and_leaves_its_traceback(plant):
    plant("import os\ndef refuse(pid, cpus): raise OSError(22, 'Invalid argument')\nos.sched_setaffinity = refuse")
    outcome = row_of(f"{FAULTY}:brief", start="fork").outcome
    assert outcome.reason.startswith("OSError: [Errno 22] Invalid argument")
    assert "Traceback" in outcome.stderr_tail


def test_a_forked_run_holds_no_file_but_its_own(tmp_path):
    path = tmp_path / "files"
    code = f"import os\ndef build(setting):\n    open({str(path)!r}, 'w').write(' '.join(os.listdir('/proc/self/fd')))"
    (tmp_path / "mine.py").write_text(code)
    row_of(f"{tmp_path}/mine.py:build", start="fork")
    # Three streams, the answer, the requests for turns, the file itself, and the folder being read.
    assert len(path.read_text().split()) == 7


def test_what_a_server_once_held_is_not_counted_as_the_runs_memory(plant):
    plant("held = bytearray(b'x' * 400_000_000); del held")
    assert row_of(f"{FAULTY}:brief", start="fork").witness.max_rss_bytes < 100e6


def test_a_forked_run_belongs_to_its_sweep_below_another_that_adopts_orphans():
    above = "import subprocess, sys; from scaling.running.processes import adopt_orphans, children; adopt_orphans()"
    above += "; subprocess.run(sys.argv[1:], check=True); print(children())"
    sweep = "import sys; from tests.runs import row_of; print(row_of(sys.argv[1], start='fork').outcome.status)"
    command = [sys.executable, "-c", above, sys.executable, "-c", sweep, f"{FAULTY}:brief"]
    completed = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert completed.stdout.split() == ["ok", "set()"], completed.stderr


def test_a_forked_run_has_its_own_temporary_folder_even_if_its_server_has_looked_for_one(tmp_path, plant):
    plant("import tempfile; tempfile.gettempdir()")
    path = tmp_path / "folder"
    (tmp_path / "mine.py").write_text(
        "import os, tempfile\ndef build(setting):\n"
        f"    open({str(path)!r}, 'w').write(os.environ['TMPDIR'] + ' ' + tempfile.gettempdir())\n"
    )
    row_of(f"{tmp_path}/mine.py:build", start="fork")
    own, used = path.read_text().split()
    assert own == used
