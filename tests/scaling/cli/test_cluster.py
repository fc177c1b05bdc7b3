"""Sweeps on a real Slurm, whose four nodes of two node types are PID namespaces of this machine.

The nodes share the machine's CPUs, so no figure measured here means anything but who made it when. What LSF and PBS are
completed is tested beside their providers, against stubs.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from scaling.results.cluster_folder import read_journal
from scaling.results.ledger import run_key
from scaling.results.rows import Row
from scaling.results.store import read_rows
from tests.conftest import need
from tests.scaling.cli.scaling import SCALING, scaling
from tests.slurm import KINDS, Slurm, command, missing, until

HEARTBEAT, THRESHOLD = 2, 8
# Where a loss is waited for.
SOON = {"heartbeat_seconds": 1, "threshold_seconds": 5}
FAULTY = Path(__file__).parents[1] / "running/faulty.py"

# Steps that take time and no CPU: four nodes have to share what this machine has.
IDLE = """
import time

class Idle:
    items_per_step = 1
    def __init__(self, seconds): self.seconds = seconds
    def prepare(self): pass
    def step(self): time.sleep(self.seconds)

def build(setting, seconds=0.02):
    return Idle(seconds)
"""

# Steps that tell the CPU time they took, which hardly depends on who else is busy here.
BUSY = """
import time
from scaling.workloads.calibrated import division_chain

class Busy:
    items_per_step = 1
    def prepare(self): pass
    def step(self):
        start = time.thread_time()
        division_chain(500_000)()
        return [time.thread_time() - start]

def build(setting):
    return Busy()
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    try:
        import parsl  # noqa: F401
    except ImportError:
        need(False, "Parsl, from pip install 'cpu-scaling[cluster]'")
    need(not missing(), f"{', '.join(missing())} of Slurm and util-linux")
    with Slurm(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


class Sweep:
    """A study on the cluster, in a folder of its own; everything it starts is known by its TMPDIR."""

    def __init__(self, slurm: Slurm, folder: Path) -> None:
        self.slurm = slurm
        self.folder = folder
        self.results = folder / "results"
        self.environment = {**slurm.environment, "TMPDIR": str(folder), "SCALING_LOCK": str(folder / "lock")}
        (folder / "idle.py").write_text(IDLE)
        (folder / "busy.py").write_text(BUSY)

    def write(self, node_types: dict[str, int], study: str, walltimes: Mapping[str, str] = {}, **keys: object) -> None:
        """The two files: kinds with how many nodes each, and a study."""
        head = {"address": "127.0.0.1", "heartbeat_seconds": HEARTBEAT, "threshold_seconds": THRESHOLD}
        lines = [f"{key} = {json.dumps(value)}" for key, value in {**head, "poll_seconds": 1, **keys}.items()]
        for node_type, nodes in node_types.items():
            # Nodes that share a machine must not share its lock.
            setup = f"export SCALING_LOCK={self.folder}/lock.$SLURMD_NODENAME"
            lines += ["[[node_types]]", f'name = "{node_type}"', f'constraint = "{node_type}"', f"nodes = {nodes}"]
            lines += [f'walltime = "{walltimes.get(node_type, "10m")}"', f"setup = '{setup}'"]
        (self.folder / "cluster.toml").write_text("\n".join(lines))
        (self.folder / "study.toml").write_text(study)

    @property
    def arguments(self) -> list[str]:
        return ["sweep", "study.toml", "--cluster", "cluster.toml", "-o", self.results.name]

    def run(self, *, report: bool = False) -> "subprocess.CompletedProcess[str]":
        """The whole sweep, with its pages or without."""
        arguments = [*self.arguments, *([] if report else ["--no-report"])]
        return scaling(*arguments, cwd=self.folder, env=self.environment, timeout=200)

    @contextmanager
    def started(self, *program: str | Path):
        """The sweep under way, with another program where one is given; it is ended at the latest with the block."""
        arguments = [*(program or [SCALING]), *self.arguments, "--no-report"]
        with (self.folder / "output").open("a") as output:
            driver = subprocess.Popen(arguments, cwd=self.folder, env=self.environment, stdout=output, stderr=output)
        try:
            yield driver
            driver.wait(150)
        finally:
            with suppress(ProcessLookupError):
                driver.kill()
            driver.wait()

    def output(self) -> str:
        return (self.folder / "output").read_text()

    def rows(self, *node_types: str) -> list[Row]:
        folders = [self.results / node_type for node_type in node_types or ("kindA", "kindB")]
        return [row for folder in folders if (folder / "rows.jsonl").exists() for row in read_rows(folder)]

    def journal(self, what: str) -> list:
        if not (self.results / "journal.jsonl").exists():
            return []
        return [entry for entry in read_journal(self.results) if entry.event == what]

    def runs_under_way(self) -> int:
        """How many runs the journal says are sent and not answered."""
        return len(self.journal("sent")) - len(self.journal("result"))

    def wait_for(self, condition) -> None:
        until(condition, 90, lambda: f"{self.output()}\n{self.slurm.jobs()}")

    def wait_for_rows(self, count: int, *node_types: str) -> None:
        """Wait until so many more rows are there than now."""
        before = len(self.rows(*node_types))
        self.wait_for(lambda: len(self.rows(*node_types)) >= before + count)

    def processes(self) -> list[tuple[int, bytes]]:
        """Every process this sweep has started, anywhere."""
        processes = []
        for path in Path("/proc").iterdir():
            with suppress(OSError):
                if f"TMPDIR={self.folder}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    processes.append((int(path.name), b" ".join(command(int(path.name)))))
        return processes


@pytest.fixture
def sweep(slurm, tmp_path):
    slurm.repair()
    made = Sweep(slurm, tmp_path)
    yield made
    slurm.say("scancel", "--user", str(os.getuid()))
    until(lambda: not slurm.jobs(), 60, slurm.jobs)


def idle_study(seconds: float, launches: int, step: float = 0.02) -> str:
    """One and two cores, a run of at most so many seconds for each launch of each, and one core once more."""
    keys = (
        f"cores = [1, 2]\nlaunches = {launches}\nmax_seconds = {seconds}\nprecision = 0.000001\ntimeout_seconds = 20\n"
    )
    return f'workloads = ["idle.py:build seconds={step}"]\n{keys}'


def twice(rows: list[Row]) -> list:
    return [key for key, count in Counter(row.run.key for row in rows).items() if count > 1]


def overlapping(rows: list[Row]) -> list:
    """Pairs of runs that were under way at the same time on the same node."""
    pairs = []
    for node in {row.machine.host for row in rows}:
        spans = sorted(
            (datetime.fromisoformat(row.started_at).timestamp(), row.outcome.sections.wall)
            for row in rows
            if row.machine.host == node and row.outcome.sections.wall is not None
        )
        pairs += [(one, two) for one, two in pairwise(spans) if one[0] + one[1] > two[0] + 0.002]
    return pairs


def complete(sweep: Sweep, runs: int, node_types: tuple[str, ...] = ("kindA", "kindB")) -> None:
    """Every planned run of every kind once, on a node of that kind, and no two at a time on a node."""
    for node_type in node_types:
        rows = sweep.rows(node_type)
        assert len(rows) == runs
        assert not twice(rows)
        assert {KINDS[row.machine.host] for row in rows} == {node_type}
        assert {row.outcome.status for row in rows} == {"ok"}
        assert {row.witness.cpus_at_start for row in rows} <= {"0", "0-1"}
    assert not overlapping(sweep.rows(*node_types))
    assert Counter(
        entry.node_type for entry in sweep.journal("result") if entry.node_type in node_types
    ) == dict.fromkeys(node_types, runs)


def test_every_run_is_made_once_on_a_node_of_its_type_and_none_beside_another(sweep):
    sweep.write({"kindA": 2, "kindB": 2}, idle_study(0.3, launches=4))
    done = sweep.run(report=True)
    assert done.returncode == 0, done.stderr
    complete(sweep, 9)
    assert not sweep.journal("lost")
    assert done.stderr.endswith("the page that shows them is results/report.html\n")
    assert "kindB/report.html" in (sweep.results / "report.html").read_text()
    status = json.loads(scaling("status", sweep.results, "--json", env=sweep.environment).stdout)
    assert [(node_type["planned"], node_type["done"]) for node_type in status["node_types"]] == [(9, 9), (9, 9)]
    assert not status["driver_running"]
    again = sweep.run()
    assert again.returncode == 0
    assert again.stderr.count("runs are there already, from") == 2
    assert len(sweep.journal("pilot")) == 4


def test_nodes_that_share_no_folder_get_their_keys_from_the_scheduler_and_leave_none_behind(sweep):
    sweep.write({"kindA": 1}, idle_study(0.1, launches=1), shared=False)
    done = sweep.run()
    assert done.returncode == 0, done.stderr
    complete(sweep, 3, ("kindA",))
    assert not (sweep.results / "spool").exists()
    until(lambda: not list(sweep.folder.glob("scaling-*")), 60, lambda: list(sweep.folder.iterdir()))


def test_lost_nodes_a_dead_slurmd_and_a_cancelled_pilot_lose_nothing_and_record_nothing_twice(sweep, slurm):
    sweep.write({"kindA": 2, "kindB": 2}, idle_study(1.2, launches=5, step=0.3), **SOON)
    with sweep.started() as driver:
        sweep.wait_for_rows(2, "kindA")
        sweep.wait_for_rows(2, "kindB")
        slurm.kill_slurmd("b1")
        slurm.kill("a1")
        slurm.freeze("b2")
        (cancelled,) = [job for job, _, node in map(str.split, slurm.jobs()) if node == "a2"]
        slurm.say("scancel", cancelled)
        to_be_lost = Counter(kindA=2, kindB=1)
        sweep.wait_for(lambda: Counter(entry.node_type for entry in sweep.journal("lost")) >= to_be_lost)
        # The frozen node makes its run to the end; only then does its pilot notice that it has been given up.
        slurm.thaw("b2", but=b"pilot_keys")
        sweep.wait_for(lambda: sweep.journal("late"))
        slurm.thaw("b2")
        slurm.restart_slurmd("b1")
        slurm.start("a1")
    assert driver.returncode == 0, sweep.output()
    complete(sweep, 11)
    sent = Counter(entry.node_type + entry.key for entry in sweep.journal("sent"))
    lost = {entry.node_type + entry.key for entry in sweep.journal("lost")}
    assert {key for key, count in sent.items() if count > 1} == lost
    # What b1 was making went on without its slurmd, and the frozen node's answer came when nobody waited for it.
    assert {row.machine.host for row in sweep.rows("kindB")} == {"b1", "b2"}
    (late,) = sweep.journal("late")
    assert late.node_type + late.key in lost
    assert "the node stopped answering; its run is sent again (attempt 2)" in sweep.output()
    assert len([entry for entry in sweep.journal("pilot") if entry.node_type == "kindA"]) > 2


def test_a_driver_that_is_killed_or_terminated_leaves_nothing_behind_and_the_next_goes_on(sweep, slurm):
    # Long enough that runs are missing for every driver, and each shorter than the time after which a node gives up.
    sweep.write({"kindA": 1, "kindB": 1}, idle_study(2.0, launches=6, step=0.2), **SOON)
    with sweep.started() as driver:
        sweep.wait_for_rows(3)
        status = json.loads(scaling("status", sweep.results, "--json", env=sweep.environment).stdout)
        assert status["driver_running"]
        running = [
            pilot for node_type in status["node_types"] for pilot in node_type["pilots"] if pilot["state"] == "running"
        ]
        assert {pilot["node"] for pilot in running} <= set(KINDS)
        assert running
        sweep.wait_for(sweep.runs_under_way)
        driver.kill()
    nothing_is_left(sweep, slurm)
    assert sweep.runs_under_way() > 0
    # Two of them while a run is made, one while pilots are waited for.
    moments = {signal.SIGINT: "sent", signal.SIGTERM: "sent", signal.SIGHUP: "pilot"}
    for number, what in moments.items():
        before = len(sweep.journal(what))
        with sweep.started() as driver:
            sweep.wait_for(lambda what=what, before=before: len(sweep.journal(what)) > before)
            driver.send_signal(number)
        assert driver.returncode == 130, (number, sweep.output())
        nothing_is_left(sweep, slurm)
    assert sweep.output().count("give the same command to go on") == len(moments)
    done = sweep.run()
    assert done.returncode == 0, done.stderr
    complete(sweep, 13)
    taken = [entry for entry in sweep.journal("result") if entry.note]
    assert taken, "no answer was taken from the spool"


def nothing_is_left(sweep: Sweep, slurm: Slurm) -> None:
    """The queue becomes empty and no process is left after the driver has ended."""
    until(lambda: not slurm.jobs() and not sweep.processes(), 60, lambda: (slurm.jobs(), sweep.processes()))


# A driver for which pilots come and go within seconds: the shortest walltime Slurm knows is a minute.
IN_A_HURRY = """
from scaling.running.engines import cluster_setup
from scaling.study import cluster
cluster.MARGIN_SECONDS = cluster_setup.START_AND_END_SECONDS = 5.0
from scaling.cli.main import main
main()
"""


def test_a_walltime_that_runs_out_cuts_no_run_off_and_a_killed_worker_costs_its_run_once(sweep, slurm):
    study = idle_study(1.5, launches=2, step=0.3).replace("timeout_seconds = 20", "timeout_seconds = 44")
    # Of the minute pilots of kindB take runs for six seconds.
    sweep.write({"kindA": 1, "kindB": 1}, study, walltimes={"kindB": "1m"})
    with sweep.started(sys.executable, "-c", IN_A_HURRY) as driver:
        killed = [_kill_the_worker(sweep, slurm, [])]
        sweep.wait_for_rows(1, "kindA")
        killed.append(_kill_the_worker(sweep, slurm, killed))
        _kill_the_worker(sweep, slurm, killed)
    assert driver.returncode == 0, sweep.output()
    complete(sweep, 5, ("kindB",))
    first, second, *_ = [entry.job for entry in sweep.journal("pilot") if entry.node_type == "kindB"]
    assert first != second
    assert "JobState=COMPLETED" in slurm.say("scontrol", "show", "job", first)
    assert {entry.node_type for entry in sweep.journal("lost")} == {"kindA"}
    once, failed, *others = sweep.rows("kindA")
    assert [row.outcome.status for row in (once, failed, *others)] == ["ok", "failed", "ok", "ok", "ok"]
    assert failed.outcome.reason == (
        "the process that makes runs on the node was killed, in attempt 2, which was the last"
    )
    sent = Counter(entry.key for entry in sweep.journal("sent") if entry.node_type == "kindA")
    assert {key for key, count in sent.items() if count > 1} == {run_key(once.run), run_key(failed.run)}
    assert max(sent.values()) == 2
    assert not twice(sweep.rows("kindA"))


def _kill_the_worker(sweep: Sweep, slurm: Slurm, earlier: list[int]) -> int:
    """Kill the process that makes runs on kindA's node, as soon as it makes another; which run that was."""

    def runs() -> list[int]:
        nodes = [node for node in ("a1", "a2") if _benchmarks(slurm, node)]
        return [run for node in nodes for run in _benchmarks(slurm, node) if run not in earlier]

    sweep.wait_for(runs)
    run = runs()[0]
    os.kill(int(Path(f"/proc/{run}/stat").read_text().rpartition(") ")[2].split()[1]), signal.SIGKILL)
    return run


def test_a_node_type_whose_nodes_are_all_down_is_reported_with_the_reason_and_completed_later(sweep, slurm):
    sweep.write({"kindA": 2, "kindB": 1}, idle_study(0.2, launches=1), patience_seconds=0.5)
    slurm.down("a1", "a2")
    try:
        done = sweep.run()
    finally:
        slurm.up("a1", "a2")
    assert done.returncode == 1
    assert "kindA: none of its nodes can be had: job" in done.stderr
    assert "pending (ReqNodeNotAvail" in done.stderr or "pending (Nodes required for job are DOWN" in done.stderr
    assert "not complete: kindA; give the same command again" in done.stderr
    complete(sweep, 3, ("kindB",))
    slurm.wait_until_idle("a1", "a2")
    assert sweep.run().returncode == 0
    complete(sweep, 3)


def test_a_run_that_fails_by_itself_is_one_row_with_its_reason_and_is_not_made_again(sweep):
    ways = {
        "leaves_with status=5": ("failed", "exited with status 5 without an answer"),
        "signals_itself number=9": ("failed", "killed by signal 9 (SIGKILL)"),
        "hangs": ("timeout", "no answer within 6 s"),
        "floods megabytes=10": ("ok", None),
    }
    workloads = json.dumps([f"{FAULTY}:{way}" for way in ways])
    keys = "cores = 1\nlaunches = 1\nmax_seconds = 0.1\ntimeout_seconds = 6"
    sweep.write({"kindA": 2}, f"workloads = {workloads}\n{keys}")
    assert sweep.run().returncode == 0
    rows = sweep.rows("kindA")
    assert len(rows) == 2 * len(ways)
    assert not twice(rows)
    for row in rows:
        status, reason = ways[row.run.point.workload.partition(":")[2]]
        assert row.outcome.status == status
        assert (row.outcome.reason or "").startswith(reason or "")
    assert len(sweep.journal("sent")) == len(rows)


def test_nothing_but_the_benchmark_uses_a_millisecond_a_second_of_the_node(sweep, slurm):
    sweep.write({"kindA": 1}, idle_study(18, launches=1, step=0.2), heartbeat_seconds=5, threshold_seconds=30)
    with sweep.started() as driver:
        sweep.wait_for(lambda: sweep.journal("sent"))
        (node,) = {row.split()[2] for row in slurm.jobs()}
        sweep.wait_for(lambda: _benchmarks(slurm, node))
        measured = _benchmarks(slurm, node)
        _let_pass(2)  # to start a run takes some work, which is not beside the measurement but before it
        before, start = _cpu_seconds(slurm, node), os.times().elapsed
        _let_pass(10)
        after, end = _cpu_seconds(slurm, node), os.times().elapsed
        assert _benchmarks(slurm, node) == measured
        driver.terminate()
    used = sum(after[pid] - before.get(pid, 0.0) for pid in after)
    assert set(before) == set(after)
    print(f"{1000 * used / (end - start):.3f} ms a second by {len(after)} processes")
    assert used / (end - start) < 0.001


def _let_pass(seconds: float) -> None:
    start = os.times().elapsed
    until(lambda: os.times().elapsed - start > seconds, 2 * seconds)


def _benchmarks(slurm: Slurm, node: str) -> list[int]:
    return [pid for pid in slurm.processes(node) if any(b"running.worker" in word for word in command(pid))]


def _cpu_seconds(slurm: Slurm, node: str) -> dict[int, float]:
    """CPU time of every process of a node but the benchmark."""
    others = set(slurm.processes(node)) - set(_benchmarks(slurm, node))
    return {
        pid: sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
        for pid in others
    }


def test_the_same_study_through_the_cluster_is_not_shown_to_be_two_percent_slower_than_here(sweep):
    study = 'workloads = ["busy.py:build"]\ncores = [1, 2]\nlaunches = 4\nmax_seconds = 0.3\ntimeout_seconds = 30\n'
    sweep.write({"kindA": 1}, study)
    # The driver and the nodes share the CPUs that are measured here, which a quiet machine shows: 0.3 % in three pairs.
    # Something else may wake up between the halves of a pair.
    assert any(_alike_here_and_there(sweep, pair) for pair in range(3))


def _alike_here_and_there(sweep: Sweep, pair: int) -> bool:
    sweep.results = sweep.folder / f"there-{pair}"
    here = scaling("sweep", "study.toml", "--no-report", "-o", f"here-{pair}", cwd=sweep.folder, env=sweep.environment)
    assert here.returncode == 0, here.stderr
    assert sweep.run().returncode == 0
    compared = scaling("compare", sweep.folder / f"here-{pair}", sweep.results / "kindA", "--fail-above", "2%")
    print(compared.stdout, compared.stderr)
    assert compared.returncode in (0, 1, 3), compared.stderr
    return compared.returncode == 0


def test_a_job_with_one_of_two_cpus_sees_one_and_refuses_what_needs_both(sweep, slurm):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    (sweep.folder / "study.toml").write_text(idle_study(0.1, launches=1))
    for job in [_submitted(sweep, name, options) for name, options in JOBS.items()]:
        job.wait(60)
    seen = {name: _seen_by_a_job(sweep, name) for name in JOBS}
    allowed, output = seen["exclusive"]
    assert allowed == "0-1"
    assert "scaling: results are in exclusive\n" in output
    allowed, output = seen["narrow"]
    assert allowed in ("0", "1")
    assert "cores=2 with smt=1 was asked for (placement compact, CPUs 0 allowed)" in output.replace("CPUs 1", "CPUs 0")
    assert not (sweep.folder / "narrow").exists()


JOBS = {"exclusive": ["--exclusive"], "narrow": ["-n1", "-c1"]}


def _submitted(sweep: Sweep, name: str, options: list[str]) -> "subprocess.Popen[bytes]":
    """A job that looks at its machine, and tries a study of one and two cores."""
    line = f"{SCALING} topology --json > {name}.json; {SCALING} sweep study.toml --no-report -o {name} 2> {name}.stderr"
    arguments = ["sbatch", "--wait", "--output=/dev/null", *options, f"--wrap={line}"]
    return subprocess.Popen(arguments, env=sweep.environment, cwd=sweep.folder, stdout=subprocess.DEVNULL)


def _seen_by_a_job(sweep: Sweep, name: str) -> tuple[str, str]:
    """What the program calls allowed in the job, and what it says of the study."""
    output = (sweep.folder / f"{name}.stderr").read_text()
    return json.loads((sweep.folder / f"{name}.json").read_text())["allowed"], output


def test_an_unknown_feature_is_refused_at_once_with_the_schedulers_words(sweep, slurm):
    sweep.write({"kindA": 1, "kindZ": 1}, idle_study(0.1, launches=1))
    done = sweep.run()
    assert done.returncode == 2
    (output,) = done.stderr.splitlines()
    assert output.startswith("scaling: node type 'kindZ': the scheduler refuses the job: ")
    assert output.endswith("Invalid feature specification")
    until(lambda: not slurm.jobs(), 20, slurm.jobs)


def test_a_folder_of_one_machine_is_not_gone_on_with_by_a_cluster(sweep, slurm):
    sweep.write({"kindA": 1}, idle_study(0.1, launches=1))
    sweep.results.mkdir()
    (sweep.results / "rows.jsonl").touch()
    done = sweep.run()
    assert done.returncode == 2
    assert "results holds the results of one machine" in done.stderr
    assert not slurm.jobs()


def test_without_parsl_the_refusal_is_one_sentence(sweep):
    sweep.write({"kindA": 1}, idle_study(0.1, launches=1))
    absent = sweep.folder / "absent/parsl"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ImportError('No module named parsl')")
    sweep.environment["PYTHONPATH"] = str(absent.parent)
    done = sweep.run()
    assert (done.returncode, done.stderr) == (
        2,
        "scaling: a sweep on a cluster needs Parsl, which is not installed; give: pip install 'cpu-scaling[cluster]'\n",
    )


def test_a_scheduler_that_cannot_be_reached_is_one_sentence(sweep, slurm):
    sweep.write({"kindA": 1}, idle_study(0.1, launches=1))
    conf = sweep.folder / "slurm.conf"
    conf.write_text(
        slurm.conf.read_text().replace("SlurmctldPort=", "SlurmctldPort=1 #").replace("Timeout=5", "Timeout=1")
    )
    sweep.environment["SLURM_CONF"] = str(conf)
    done = sweep.run()
    assert done.returncode == 2
    (output,) = done.stderr.splitlines()
    assert output.startswith("scaling: Slurm cannot be reached: squeue says 'slurm_load_jobs error: Unable to contact")


def test_budget_and_dry_run_are_refused_with_a_cluster():
    done = scaling("sweep", "quick", "--cluster", "cluster.toml", "--dry-run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
