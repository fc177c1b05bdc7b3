"""One run, however it is started, and everything that can go wrong: a row with a clear reason, and no process left."""

import errno
import os
import signal
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

import psutil
import pytest

from scaling.analysis.serial_fraction import StatedTruth
from scaling.machine.sysfs import read_topology
from scaling.results.rows import launch_of, row_from_json, row_to_json
from scaling.running import control_groups, launcher, processes, system_calls
from scaling.running.witness import memory_policy
from tests import runs
from tests.conftest import need

FAULTY = Path(__file__).with_name("faulty.py")


def faulty(call: str) -> str:
    return f"{FAULTY}:{call}"


@pytest.fixture(params=["spawn", "fork"])
def row_of(request):
    """The first run of a study, started in both ways."""
    return partial(runs.row_of, start=request.param)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(folder := tmp_path / "temporary"))
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def nobody_is_left_behind():
    before = processes.children()
    yield
    assert processes.children() == before


def test_a_run_is_timed_and_its_sections_add_up(row_of):
    row = row_of(faulty("brief"))
    sections = row.outcome.sections
    assert row.outcome.status == "ok"
    assert row.outcome.ended_by in ("precision", "max_seconds")
    assert all(seconds > 0 for seconds in row.outcome.step_seconds)
    assert sections.spawn + sections.imports + sections.main <= sections.wall
    assert sections.init + sections.setup + sections.run == pytest.approx(sections.main)
    assert sum(row.outcome.step_seconds) <= sections.run


@pytest.mark.parametrize("workload", ["brief", "times_its_own"])
def test_a_fixed_number_of_steps_is_taken_after_a_fixed_warm_up_whatever_else_would_end_a_launch(row_of, workload):
    row = row_of(faulty(workload), steps=20, warmup=3, max_seconds=1e-9, precision=0.9)
    outcome = row.outcome
    assert (outcome.status, outcome.ended_by, len(outcome.step_seconds), outcome.warmup_steps) == ("ok", "steps", 23, 3)
    assert (row.run.steps, row.run.warmup) == (20, 3)
    assert row_from_json(row_to_json(row)).run == row.run
    assert launch_of(row).steps == 20
    assert outcome.sections.init + outcome.sections.setup + outcome.sections.run <= outcome.sections.main


def test_what_a_workload_states_of_itself_is_in_its_row(row_of):
    assert row_of(faulty("states_a_truth serial_fraction=0.25")).outcome.truth == StatedTruth(0.25, 0.0)
    assert row_of(faulty("brief")).outcome.truth is None


@pytest.mark.parametrize("cpu", sorted(read_topology().allowed)[-2:])
def test_the_witness_agrees_with_the_request(row_of, cpu):
    row = row_of("calibrated work=1", placements=f"cpus:{cpu}")
    witness = row.witness
    assert row.run.flat_cpus == (cpu,)
    assert (witness.cpus_at_start, witness.cpus_at_end, witness.cpus_visited) == (str(cpu),) * 3
    assert witness.busy_threads == 1
    assert 0 < witness.cpu_seconds <= 1.1 * row.outcome.sections.run
    assert witness.max_rss_bytes > 1 << 20
    assert witness.parent_cpu_seconds > 0
    assert dict(row.versions)["numpy"]


def test_every_core_is_used_where_every_core_was_asked_for(row_of):
    wide = row_of("calibrated work=8 serial=0", cores="all", max_seconds=0.5)
    assert wide.witness.busy_threads == wide.run.point.cores == len(read_topology().cores)
    assert wide.witness.threads == wide.run.point.cores


def test_a_run_has_the_memory_policy_of_its_study(row_of, monkeypatch):
    need(memory_policy() is not None, "a kernel with NUMA policies")
    monkeypatch.setattr(system_calls, "policy", lambda *_: (system_calls.BIND, (0,)))
    need(row_of(faulty("brief")).witness.memory_policy != "default", "the right to set a memory policy")
    assert row_of(faulty("brief")).witness.memory_policy == "bind:0"


def test_the_parent_is_where_it_was_after_a_sweep(row_of):
    before = os.sched_getaffinity(0)
    row_of(faulty("brief"))
    assert os.sched_getaffinity(0) == before


BAD_ENDS = [
    ("leaves_with status=3", "failed", "status 3 without"),
    ("leaves_with status=0", "failed", "status 0 without"),
    ("leaves_politely", "failed", "SystemExit: enough"),
    ("raises", "failed", "ZeroDivisionError: division by zero (faulty.py line "),
    ("segfaults", "failed", "killed by signal 11 (SIGSEGV)"),
    ("signals_itself number=9", "failed", "killed by signal 9 (SIGKILL) (out of memory?)"),
    ("signals_itself number=15", "interrupted", "killed by signal 15 (SIGTERM)"),
    ("signals_itself number=40", "failed", "killed by signal 40"),
    ("answers_half", "failed", 'after 26 bytes that are not an answer: b\'{"status": "ok", "step_sec\''),
    ("answers_rubbish", "failed", "that are not an answer"),
    ("counts_no_items", "failed", "items_per_step of a workload"),
    ("loses_text", "failed", "finite numbers, not 'high'"),
    ("raises_bytes", "failed", "OSError: /tmp/\\xff"),
    ("nothing_here", "failed", "has no function 'nothing_here'"),
    ("not_a_workload", "failed", "type int"),
    ("brief width=3", "failed", "unexpected keyword argument 'width'"),
]


@pytest.fixture(scope="module", params=["spawn", "fork"])
def ended_badly(request):
    """Runs that end badly, all of one study: their outcomes by what they were to do."""
    rows = runs.rows_of([faulty(call) for call, *_ in BAD_ENDS], first_launches=True, start=request.param)
    return {row.run.point.workload: row.outcome for row in rows}


@pytest.mark.parametrize(("call", "status", "reason"), BAD_ENDS)
def test_a_run_that_ends_badly_is_a_row_with_a_reason_and_the_next_one_is_made(ended_badly, call, status, reason):
    outcome = ended_badly[faulty(call)]
    assert outcome.status == status
    assert reason in outcome.reason
    assert "\n" not in outcome.reason
    assert len(outcome.reason) < 3000
    assert outcome.sections.wall > 0


def test_variables_that_are_not_utf_8_are_kept_by_escape(row_of, monkeypatch):
    monkeypatch.setenv("LANG", os.fsdecode(b"de_DE.\xff"))
    row = row_of(faulty("brief"))
    assert row.outcome.status == "ok"
    assert dict(row.environment)["LANG"] == "de_DE.\\xff"
    assert row_from_json(row_to_json(row)) == row


def test_a_file_that_cannot_be_imported_is_a_row_with_a_reason(row_of, tmp_path):
    (tmp_path / "bad.py").write_text("import nowhere_at_all")
    assert "ModuleNotFoundError: No module named 'nowhere_at_all'" in row_of(f"{tmp_path}/bad.py:build").outcome.reason


def test_a_file_that_needs_a_package_of_an_extra_says_which_to_install(row_of, tmp_path):
    code = "raise ModuleNotFoundError(\"No module named 'tensorflow'\", name='tensorflow.keras')"
    (tmp_path / "bad.py").write_text(code)
    outcome = row_of(f"{tmp_path}/bad.py:build").outcome
    needs = "it needs tensorflow, which is not installed; in your clone of scaling, run: pip install '.[tensorflow]'"
    assert (outcome.status, outcome.reason) == ("failed", needs)


@pytest.mark.parametrize("call", ["hangs", "hangs_deaf"])
def test_a_run_that_hangs_is_ended_at_its_time(row_of, call):
    outcome = row_of(faulty(call), timeout_seconds=0.5).outcome
    assert outcome.status == "timeout"
    assert outcome.reason == "no answer within 0.5 s, so it was ended"


@pytest.mark.parametrize("says", ["ready", "turn", "anything"])
@pytest.mark.parametrize("design", ["apart", "turns"])
def test_a_run_that_hangs_is_ended_in_time_whatever_it_says(row_of, design, says):
    keys = {"design": f"'{design}'", "rounds": 2, "turn_seconds": 0.01, "timeout_seconds": 1.0}
    assert row_of(faulty(f"hangs_and_talks says={says}"), **keys).outcome.status == "timeout"


def test_a_flood_on_stdout_does_not_drown_the_answer(row_of):
    row = row_of(faulty("floods megabytes=100"))
    assert row.outcome.status == "ok"
    assert row.outcome.stdout_tail is None


def test_of_a_flood_before_a_failure_the_tail_is_kept(row_of):
    outcome = row_of(faulty("floods_and_fails megabytes=3")).outcome
    assert outcome.reason == "exited with status 4 without an answer"
    assert outcome.stdout_tail == "x" * 4096
    assert outcome.stderr_tail == "the last words\n"


def test_the_end_of_an_output_that_comes_piece_by_piece_is_kept():
    reader, writer = os.pipe()
    output = {"stderr": bytearray()}
    for piece in (b"first words", b"x" * launcher.TAIL_BYTES, b"last words"):
        os.write(writer, piece)
        assert launcher._read_piece(output, "stderr", reader)
    os.close(writer)
    assert not launcher._read_piece(output, "stderr", reader)
    os.close(reader)
    assert (len(output["stderr"]), output["stderr"][-11:]) == (launcher.TAIL_BYTES, b"xlast words")


def test_a_run_of_a_process_with_many_open_files_is_read_to_its_end(high_descriptor, monkeypatch):
    pipe = os.pipe
    monkeypatch.setattr(os, "pipe", lambda: tuple(map(high_descriptor, pipe())))
    assert runs.row_of(faulty("brief")).outcome.status == "ok"


def test_a_daemon_does_not_outlive_its_run(row_of, tmp_path):
    row = row_of(faulty(f"forks_a_daemon pids='{tmp_path}'"))
    assert row.outcome.status == "ok"
    assert not psutil.pid_exists(int((tmp_path / "daemon").read_text()))


# Orphans without number, and then the zombies that the sweep has as children.
LEAVES_ORPHANS = """
for i in $(seq {orphans}); do (true &); done
sleep 0.5
sweep=$(cut -d ' ' -f 4 /proc/$PPID/stat)
cat /proc/[0-9]*/stat 2> /dev/null | awk -v sweep=$sweep '$3 == "Z" && $4 == sweep' | wc -l > '{log}'
"""


@pytest.mark.parametrize("orphans", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_orphans_that_have_ended_are_reaped_while_their_run_lasts(row_of, tmp_path, orphans):
    (path := tmp_path / "orphans.sh").write_text(LEAVES_ORPHANS.format(orphans=orphans, log=tmp_path / "zombies"))
    row = row_of(f"command: sh '{path}'", timeout_seconds=300)
    assert row.outcome.status == "ok", row.outcome
    assert int((tmp_path / "zombies").read_text()) <= 5


# So many processes that leave their parent again and again, for a minute at most.
BOMB = """
import os, sys, time
end = time.time() + 60
for _ in range(24):
    if os.fork() == 0:
        break
else:
    time.sleep(60)
while time.time() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
"""


@pytest.mark.slow
@pytest.mark.parametrize("guarded", [True, False])
def test_processes_that_leave_their_parent_again_and_again_end_with_their_run(row_of, tmp_path, guarded, monkeypatch):
    if not guarded:
        monkeypatch.setattr(control_groups, "_make_guard", lambda mark, root: None)
    (path := tmp_path / "bomb.py").write_text(BOMB)
    row = row_of(f"command: '{sys.executable}' '{path}'", timeout_seconds=2)
    assert row.outcome.reason == "no answer within 2 s, so it was ended"
    assert not [one.pid for one in psutil.process_iter(["cmdline"]) if str(path) in (one.info["cmdline"] or ())]


@pytest.mark.slow
@pytest.mark.parametrize("program", ["sleep 333.0625", "env -i sh -c 'setsid sleep 333.0625 & wait; sleep 333.0625'"])
def test_a_sweep_in_a_sweep_ends_with_all_its_processes(row_of, tmp_path, program, temporary):
    scaling = Path(sys.executable).with_name("scaling")
    options = f"--cores 1 --launches 1 --no-report -o '{tmp_path / 'in'}'"
    path = tmp_path / "sweep.sh"
    path.write_text(f"SCALING_LOCK='{tmp_path / 'lock'}' exec '{scaling}' run {options} -- {program}")
    row = row_of(f"command: sh '{path}'", timeout_seconds=8)
    assert row.outcome.reason == "no answer within 8 s, so it was ended"
    lines = [one.info["cmdline"] or [] for one in psutil.process_iter(["cmdline"])]
    assert not [words for words in lines if "333.0625" in words[1:2] or any(f"{tmp_path}" in word for word in words)]
    assert not list(temporary.iterdir())


def test_a_run_killed_for_want_of_memory_says_so(row_of, small_memory_group):
    outcome = row_of(faulty(f"eats_memory group='{small_memory_group}'")).outcome
    assert outcome.status == "failed"
    assert outcome.reason == "killed by signal 9 (SIGKILL): the machine or its control group ran out of memory"


@pytest.fixture
def small_memory_group():
    """A control group that may hold 100 MB, made below this process's own."""
    made = None
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(base, f"scaling-test-{os.getpid()}")
        try:
            group.mkdir()
            (group / limit).write_text("100000000")
            made = group
            break
        except OSError:
            if group.is_dir():
                group.rmdir()
    need(made is not None, "the right to make a memory control group")
    yield made
    made.rmdir()


def test_a_mask_that_changed_during_the_run_is_seen(row_of):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    witness = row_of(faulty("unpins_itself")).witness
    assert witness.cpus_at_start != witness.cpus_at_end


def test_a_mask_the_kernel_cuts_is_a_failed_run(monkeypatch):
    # The kernel quietly leaves out what it does not have: asked for {0, 4000}, it gives {0}.
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    real = os.sched_setaffinity

    def cut(pid, cpus):
        real(pid, cpus if threading.current_thread() is threading.main_thread() else {min(cpus)})

    monkeypatch.setattr(os, "sched_setaffinity", cut)
    wide = runs.row_of(faulty("brief"), cores=2)
    assert wide.outcome.status == "failed"
    assert "but the kernel gave" in wide.outcome.reason


def test_a_mask_the_kernel_refuses_is_a_failed_run(row_of, monkeypatch):
    def refuse(pid, cpus):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    outcome = row_of(faulty("brief")).outcome
    assert outcome.status == "failed"
    assert outcome.reason == "could not be started on CPUs 0: [Errno 22] Invalid argument"


def test_an_interrupt_ends_the_run_and_is_passed_on(row_of):
    def strike(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            row_of(faulty("hangs"))
    finally:
        signal.signal(signal.SIGALRM, before)
