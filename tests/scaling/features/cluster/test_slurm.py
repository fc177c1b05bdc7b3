"""Sweeps on a real Slurm, whose four nodes of two node types are PID namespaces of this machine.

The nodes share the machine's CPUs, so no figure measured here means anything but who made it when.
"""

import json
import os
import shlex
import signal
import subprocess
from collections import Counter
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from scaling.errors import to_install
from scaling.features.cluster.folder import Ended, JobFolder, Request, Started, job_folders
from scaling.results.rows import Row
from scaling.results.store import read_rows
from tests.conftest import need
from tests.mentions import mentions
from tests.scaling.cli.scaling import SCALING, scaling
from tests.scaling.features.cluster.slurm import KINDS, Slurm, command, missing, until

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


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    pytest.importorskip("parsl")
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

    def write(self, node_types: dict[str, int], study: str, setup: str = "true") -> None:
        """The two files: kinds with how many nodes each, and a study."""
        lines = ["poll_seconds = 0.5"]
        for node_type, nodes in node_types.items():
            # Nodes that share a machine must not share its lock.
            shell = f"export SCALING_LOCK={self.folder}/lock.$SLURMD_NODENAME; {setup}"
            lines += ["[[node_types]]", f'name = "{node_type}"', f'constraint = "{node_type}"', f"nodes = {nodes}"]
            lines += ['walltime = "10m"', f"setup = '{shell}'"]
        (self.folder / "cluster.toml").write_text("\n".join(lines))
        (self.folder / "study.toml").write_text(study)

    @property
    def arguments(self) -> list[str]:
        return ["sweep", "study.toml", "--cluster", "cluster.toml", "-o", self.results.name]

    def run(self, *more: str) -> "subprocess.CompletedProcess[str]":
        """The whole sweep."""
        return scaling(*self.arguments, *more, cwd=self.folder, env=self.environment, timeout=200)

    @contextmanager
    def started(self):
        """The sweep under way; it is ended at the latest with the block."""
        with (self.folder / "output").open("a") as output:
            arguments = [SCALING, *self.arguments, "--no-report"]
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

    def jobs(self, node_type: str) -> list[JobFolder]:
        return list(job_folders(self.results, node_type))

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
    """As many cores as a node has, and their halves, in turns; a launch takes about so many seconds."""
    keys = f'cores = "doubling"\nlaunches = {launches}\nmax_seconds = {seconds}\ntimeout_seconds = 20\n'
    return f'workloads = ["idle.py:build seconds={step}"]\n{keys}'


def twice(rows: list[Row]) -> list:
    return [key for key, count in Counter(row.run.key for row in rows).items() if count > 1]


def overlapping(rows: list[Row]) -> list:
    """Pairs of cohorts that were under way at the same time on the same node."""
    pairs = []
    for node in {row.machine.host for row in rows}:
        spans: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            if row.machine.host == node:
                start = datetime.fromisoformat(row.started_at).timestamp()
                spans.setdefault(row.run.cohort.name, []).append((start, start + row.outcome.sections.wall))
        whole = sorted((min(start for start, _ in span), max(end for _, end in span)) for span in spans.values())
        pairs += [(one, two) for one, two in pairwise(whole) if one[1] > two[0] + 0.002]
    return pairs


def complete(sweep: Sweep, launches: int, node_types: tuple[str, ...] = ("kindA", "kindB")) -> None:
    """Every run of every kind once, on a node of that kind, in turns, and no two cohorts at a time on a node."""
    counts = [1] if os.cpu_count() == 1 else [1, 2]
    for node_type in node_types:
        rows = sweep.rows(node_type)
        planned = {(cores, launch) for cores in counts for launch in range(1, launches + 1)}
        made = {(row.run.point.cores, row.run.launch) for row in rows}
        assert planned <= made
        # Where a job ends between two rows of a cohort, one core is measured once more beside what is missing.
        assert {cores for cores, _ in made - planned} <= {1}
        assert not twice(rows)
        assert {KINDS[row.machine.host] for row in rows} == {node_type}
        assert {row.outcome.status for row in rows} == {"ok"}
        assert all(row.run.cohort and row.outcome.turns for row in rows)
        assert {row.witness.cpus_at_start for row in rows} <= {"0", "1", "0-1"}
    assert not overlapping(sweep.rows(*node_types))


def listening(sweep: Sweep) -> list[str]:
    """What processes of a sweep listen on, as `ss` says."""
    listed = subprocess.run(["ss", "-ltunpH"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in listed if any(f"pid={pid}," in line for pid, _ in sweep.processes())]


def nothing_is_left(sweep: Sweep, slurm: Slurm) -> None:
    """The queue becomes empty and no process is left after the driver has ended."""
    until(lambda: not slurm.jobs() and not sweep.processes(), 60, lambda: (slurm.jobs(), sweep.processes()))


def test_every_run_is_made_once_in_turns_on_a_node_of_its_type_and_nothing_listens(sweep, slurm):
    sweep.write({"kindA": 2, "kindB": 2}, idle_study(0.3, launches=4))
    with sweep.started() as driver:
        sweep.wait_for_rows(1)
        assert len(sweep.processes()) > 4
        assert listening(sweep) == []
        driver.send_signal(signal.SIGSTOP)  # so that the sweep is not over before it is looked at
        shown = scaling("show", sweep.results, "--json", env={**sweep.environment, "PATH": "/nowhere"})
        driver.send_signal(signal.SIGCONT)
        status = json.loads(shown.stdout)
        assert status["driver_running"]
        assert {job["state"] for one in status["standings"] for job in one["jobs"]} & {"running", "done"}
    assert driver.returncode == 0, sweep.output()
    complete(sweep, 4)
    assert {row.machine.host for row in sweep.rows()} == set(KINDS)
    again = sweep.run()
    assert again.returncode == 0
    assert again.stderr.count("runs already exist, from") == 2
    assert again.stderr.endswith("results/report.html\n")
    assert "kindB/report.html" in (sweep.results / "report.html").read_text()
    status = json.loads(scaling("show", sweep.results, "--json", env=sweep.environment).stdout)
    assert [(one["planned"], one["done"], len(one["jobs"])) for one in status["standings"]] == [(8, 8, 2), (8, 8, 2)]
    assert not status["driver_running"]


def test_a_job_killed_nodes_lost_and_drained_and_two_drivers_killed_cost_no_run_and_repeat_none(sweep, slurm):
    sweep.write({"kindA": 2, "kindB": 2}, idle_study(0.6, launches=10, step=0.05))
    with sweep.started() as driver:
        sweep.wait_for_rows(2, "kindA")
        sweep.wait_for_rows(2, "kindB")
        (cancelled,) = [job for job, _, node in map(str.split, slurm.jobs()) if node == "a1"]
        slurm.say("scancel", cancelled)
        slurm.say("scontrol", "update", "nodename=b1", "state=drain", "reason=test")
        slurm.kill_slurmd("b2")
        sweep.wait_for(lambda: "did not finish" in sweep.output())
        driver.kill()
    # Jobs do not need a driver.
    until(lambda: _made(sweep) > len(sweep.rows()), 60, slurm.jobs)
    with sweep.started() as driver:
        sweep.wait_for_rows(2, "kindA")
        slurm.kill("a2")
        sweep.wait_for_rows(1)
        driver.kill()
    slurm.restart_slurmd("b2")
    slurm.start("a2")
    done = sweep.run("--no-report")
    slurm.say("scontrol", "update", "nodename=b1", "state=resume")
    assert done.returncode == 0, done.stderr
    complete(sweep, 10)
    # A job of kindA was killed, its node lost another; what b1 and b2 were making they made to the end.
    assert len(sweep.jobs("kindA")) > 2
    assert {job.read(Ended).status for job in sweep.jobs("kindB")} == {"done"}
    assert len(sweep.jobs("kindB")) == 2
    nothing_is_left(sweep, slurm)


def _made(sweep: Sweep) -> int:
    """How many runs the jobs have made."""
    return sum(len(job.new_rows(0)[0]) for name in ("kindA", "kindB") for job in sweep.jobs(name))


def test_a_driver_that_is_told_to_stop_cancels_its_jobs_and_the_next_goes_on(sweep, slurm):
    sweep.write({"kindA": 1, "kindB": 1}, idle_study(0.5, launches=8, step=0.05))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before = len(sweep.rows())
        with sweep.started() as driver:
            sweep.wait_for(lambda before=before: len(sweep.rows()) > before)
            driver.send_signal(number)
        assert driver.returncode == 130, (number, sweep.output())
        nothing_is_left(sweep, slurm)
    assert sweep.output().count("run the same command again to resume") == 3
    done = sweep.run("--no-report")
    assert done.returncode == 0, done.stderr
    complete(sweep, 8)


def test_a_node_that_differs_is_refused_and_its_launches_go_to_another(sweep, slurm):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    # Node a2 has one CPU less, and comes after a1.
    wait = f"until [ -e {sweep.results}/kindA/machine.json ]; do sleep 0.2; done"
    narrow = f"[ $SLURMD_NODENAME = a1 ] || {{ {wait}; taskset -p -c 0 $$; }}"
    sweep.write({"kindA": 2}, idle_study(0.2, launches=4), setup=narrow)
    done = sweep.run("--no-report")
    assert done.returncode == 0, done.stderr
    complete(sweep, 4, ("kindA",))
    assert "a2 did not finish" in done.stderr
    assert {row.machine.host for row in sweep.rows("kindA")} == {"a1"}
    refused, other = ([job for job in sweep.jobs("kindA") if job.read(Started).node == node] for node in ("a2", "a1"))
    assert len(refused) == 1
    assert refused[0].read(Request) in [job.read(Request) for job in other]


def test_a_budget_is_that_of_each_job_and_its_launches_do_not_meet(sweep):
    sweep.write({"kindA": 2}, idle_study(0.1, launches=1).replace("launches = 1", "launches = 2\nprecision = 1e-6"))
    done = sweep.run("--no-report", "--budget", "8s")
    assert done.returncode == 0, done.stderr
    rows = sweep.rows("kindA")
    assert not twice(rows)
    assert len({row.run.launch for row in rows}) > 2


def test_an_unknown_feature_costs_its_node_type_only_and_is_said_in_the_schedulers_words(sweep, slurm):
    sweep.write({"kindZ": 1, "kindA": 1}, idle_study(0.1, launches=1))
    done = sweep.run("--no-report")
    assert done.returncode == 1
    assert "kindZ: the scheduler refused" in done.stderr
    assert "Invalid feature specification\n" in done.stderr
    assert "not complete: kindZ" in done.stderr
    complete(sweep, 1, ("kindA",))


def test_a_job_with_one_of_two_cpus_sees_one_and_refuses_what_needs_both(sweep, slurm):
    need(len(os.sched_getaffinity(0)) > 1, "two CPUs")
    (sweep.folder / "study.toml").write_text(idle_study(0.1, launches=1).replace('"doubling"', "[1, 2]"))
    for job in [_submitted(sweep, name, options) for name, options in JOBS.items()]:
        job.wait(60)
    seen = {name: _seen_by_a_job(sweep, name) for name in JOBS}
    allowed, output = seen["exclusive"]
    assert allowed == "0-1"
    assert "results are in exclusive\n" in output
    allowed, output = seen["narrow"]
    assert allowed in ("0", "1")
    assert "cores=2 with smt=1 was requested (placement compact, CPUs 0 allowed)" in output.replace("CPUs 1", "CPUs 0")
    assert not (sweep.folder / "narrow").exists()


JOBS = {"exclusive": ["--exclusive"], "narrow": ["-n1", "-c1"]}


def _submitted(sweep: Sweep, name: str, options: list[str]) -> "subprocess.Popen[bytes]":
    """A job that looks at its machine, and tries a study of one and two cores."""
    program = shlex.quote(str(SCALING))
    look = f"{program} machine topology --json > {name}.json"
    line = f"{look}; {program} sweep study.toml --no-report -o {name} 2> {name}.stderr"
    arguments = ["sbatch", "--wait", "--output=/dev/null", *options, f"--wrap={line}"]
    return subprocess.Popen(arguments, env=sweep.environment, cwd=sweep.folder, stdout=subprocess.DEVNULL)


def _seen_by_a_job(sweep: Sweep, name: str) -> tuple[str, str]:
    """What the program calls allowed in the job, and what it says of the study."""
    output = (sweep.folder / f"{name}.stderr").read_text()
    return json.loads((sweep.folder / f"{name}.json").read_text())["allowed"], output


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
    assert mentions(output, "sbatch: error: Batch")


def test_without_parsl_the_refusal_is_one_sentence(tmp_path):
    sweep_files = {"cluster.toml": '[[node_types]]\nname = "a"\n', "study.toml": 'workloads = ["calibrated"]\n'}
    for name, text in sweep_files.items():
        (tmp_path / name).write_text(text)
    absent = tmp_path / "absent/parsl"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ImportError('No module named parsl')")
    environment = {**os.environ, "PYTHONPATH": f"{absent.parent}:{os.environ.get('PYTHONPATH', '')}"}
    done = scaling("sweep", "study.toml", "--cluster", "cluster.toml", cwd=tmp_path, env=environment)
    assert done.returncode == 2
    assert done.stderr.endswith(f"needs Parsl, which is not installed; {to_install('cluster')}\n")


def test_a_dry_run_is_refused_with_a_cluster():
    done = scaling("sweep", "quick", "--cluster", "cluster.toml", "--dry-run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
