import json
import os
import platform
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from scaling.machine.sysfs import read_topology
from scaling.results.store import read_rows
from tests.conftest import need
from tests.mentions import mentions
from tests.scaling.cli import here
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import SCALING, complaint, read_until

CORES = len(read_topology().cores)
SMALL = [
    *("--no-report", "--set", "workloads=calibrated work=0.2", "--set", "design=apart"),
    *("--set", "max_seconds=0.05", "--set", "launches=1"),
]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A small sweep, made once: what it said, and its folder."""
    folder = tmp_path_factory.mktemp("swept") / "results"
    return scaling("sweep", *SMALL, "-o", folder), folder


@pytest.fixture
def swept(first, folder):
    """A copy of its folder."""
    return shutil.copytree(first[1], folder)


def test_a_sweep_ends_with_its_answer_and_a_table_of_speedup_and_efficiency(folder):
    completed = scaling("sweep", "quick", *SMALL, "-o", folder)
    assert completed.returncode == 0, completed.stderr
    answers, _, table = completed.stdout.partition("\n\n")
    header, *lines = table.splitlines()
    assert answers.startswith(("give calibrated work=0.2 train ", "no answer"))
    assert {"workload", "cores", "step", "speedup", "efficiency", "launches"} <= set(header.split())
    assert "calibrated work=0.2" in lines[0]
    assert f"results are in {folder}" in completed.stderr
    assert "\x1b" not in completed.stdout + completed.stderr


def test_a_sweep_ends_with_its_page(folder):
    completed = scaling("sweep", *(word for word in SMALL if word != "--no-report"), "-o", folder)
    assert completed.returncode == 0, completed.stderr
    assert f"the HTML report is {folder / 'report.html'}" in completed.stderr
    assert "calibrated work=0.2" in (folder / "report.html").read_text()


def test_the_same_command_again_measures_nothing_twice(swept):
    before = (swept / "rows.jsonl").read_bytes()
    completed = scaling("sweep", *SMALL, "-o", swept)
    assert completed.returncode == 0
    assert "already exist" in completed.stderr
    assert (swept / "rows.jsonl").read_bytes() == before


def test_a_new_value_on_an_axis_adds_only_its_runs(swept):
    before = list(read_rows(swept))
    assert scaling("sweep", *SMALL, "--set", 'modes=["train", "infer"]', "-o", swept).returncode == 0
    after = list(read_rows(swept))
    assert after[: len(before)] == before
    assert {row.run.point.mode for row in after[len(before) :]} == {"infer"}


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_changed_study_is_refused_with_the_difference(swept, dry):
    message = complaint(scaling("sweep", *SMALL, "--set", "seed=2", "-o", swept, *dry))
    assert f"{swept} holds another study: seed was 1 and is now 2" in message


def test_another_machine_is_refused_with_the_difference(swept):
    facts = json.loads((swept / "machine.json").read_text())
    (swept / "machine.json").write_text(json.dumps({**facts, "host": "elsewhere"}))
    message = complaint(scaling("sweep", *SMALL, "-o", swept))
    assert "results of another machine:" in message
    assert "instead of 'elsewhere'" in message


def test_a_machine_is_stored_under_the_name_that_a_study_gives_it_and_its_folder_goes_on_under_it(folder):
    """Neither the rows nor the page nor any other file has the name of the host."""
    named = (*SMALL, "--set", "launches=2", "-o", folder)
    assert scaling("sweep", *SMALL, "--set", "machine_name=lent", "-o", folder).returncode == 0
    assert scaling("sweep", *named).returncode == 0
    assert {row.machine.host for row in read_rows(folder)} == {"lent"}
    assert json.loads((folder / "machine.json").read_text())["host"] == "lent"
    assert 'machine_name = "lent"' in (folder / "study.toml").read_text()
    assert not any(f'"{platform.node()}"' in path.read_text() for path in folder.iterdir() if path.is_file())
    message = complaint(scaling("sweep", *named, "--set", "machine_name=other"))
    assert "another machine: host is 'other' instead of 'lent'" in message


def test_the_study_is_kept_as_it_was_given(folder, tmp_path):
    study = tmp_path / "mine.toml"
    study.write_text('# why?\nworkloads = ["calibrated work=0.2"]\ncores = 1\nlaunches = 1\nmax_seconds = 0.05\n')
    scaling("sweep", study, "-o", folder)
    assert (folder / "study.toml").read_text() == study.read_text()


def test_a_dry_run_prints_every_run_with_its_cpus_and_makes_none(folder):
    completed = here.scaling("sweep", "calibrated", "--set", "launches=2", "-o", folder, "--dry-run")
    *runs, summary = completed.stdout.splitlines()
    assert len(runs) == 2 * CORES
    assert all("on CPUs" in line for line in runs)
    assert re.fullmatch(rf"{2 * CORES} runs, about .*", summary)
    assert not folder.exists()


def test_a_failed_run_is_a_row_and_the_sweep_goes_on(folder):
    completed = scaling(
        "sweep", *SMALL, "--set", 'workloads=["calibrated serial=7", "calibrated work=0.2"]', "-o", folder
    )
    assert completed.returncode == 0
    assert mentions(completed.stdout, "ValueError: serial=7 … 0 to 1")
    assert {row.outcome.status for row in read_rows(folder)} == {"ok", "failed"}


def test_a_sweep_of_which_nothing_came_says_no(folder):
    assert scaling("sweep", *SMALL, "--set", "workloads=calibrated serial=7", "-o", folder).returncode == 1


def test_failed_runs_are_made_again_only_when_asked_for(folder, tmp_path):
    switch = tmp_path / "fixed"
    program = ["--set", f"workloads=command: test -e {switch}"]
    scaling("sweep", *SMALL, *program, "-o", folder)
    switch.touch()
    assert scaling("sweep", *SMALL, *program, "-o", folder).returncode == 1
    assert scaling("sweep", *SMALL, *program, "-o", folder, "--retry-failed").returncode == 0
    assert {row.outcome.status for row in read_rows(folder)} == {"ok"}


def test_an_edited_module_is_not_continued_nor_is_one_that_it_imports(folder, tmp_path):
    mine, helper = tmp_path / "mine.py", tmp_path / "helper.py"
    mine.write_text("from helper import build\n")
    helper.write_text(
        "class Nothing:\n    items_per_step = 1\n    def prepare(self): pass\n    def step(self): sum(range(10**5))\n"
        "def build(setting): return Nothing()\n"
    )
    sweep = ["sweep", *SMALL, "--set", f"workloads={mine}:build", "--set", "cores=1", "-o", folder]
    scaling(*sweep)
    first, *others = read_rows(folder)
    assert (first.outcome.status, {file.name for file in first.program_files}) == ("ok", {"mine.py", "helper.py"})
    for edited in (helper, mine):
        edited.write_text(edited.read_text() + "# edited\n")
        assert f"made before {edited.name} changed" in scaling(*sweep).stderr
        scaling(*sweep, "--again")
        assert len(list(read_rows(folder))) == 1 + len(others)
    assert len((folder / "rows.retried.jsonl").read_text().splitlines()) == 2 * (1 + len(others))


@pytest.mark.parametrize("request_to_stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_keeps_whole_rows_and_says_how_to_go_on(folder, request_to_stop):
    command = [SCALING, "sweep", *SMALL, "--set", "launches=50", "-o", folder]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sweep:
        read_until(sweep.stderr, "[1/")
        sweep.send_signal(request_to_stop)
        message = sweep.stderr.read()
    assert sweep.returncode == 130, message
    stored = len(list(read_rows(folder)))
    assert f"interrupted; {stored} of" in message
    assert "run the same command again" in message


def test_a_second_sweep_may_refuse_to_wait(folder, tmp_path):
    command = [SCALING, "sweep", *SMALL, "--set", "launches=50", "-o", folder]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as first:
        read_until(first.stderr, "[1/")
        message = complaint(scaling("sweep", *SMALL, "-o", tmp_path / "other", "--no-wait"))
        name = Path(f"/proc/{first.pid}/comm").read_text().strip()  # python, if its path has spaces
        first.send_signal(signal.SIGINT)
        first.stderr.read()
    assert f"another sweep is measuring on this machine: process {first.pid} ({name}) of user" in message


@pytest.mark.parametrize(
    ("settings", "completed"),
    [
        (["smt=8"], "smt=8 was requested"),
        (["cores=0"], "key 'cores' cannot be 0"),
        (["placements=cpus:0,4095"], "CPU 4095 is not online"),
        (["workloads=alexnot"], "unknown workload 'alexnot'"),
        (["workloads=command: ./nowhere"], "program './nowhere' is missing"),
        (["core=2"], "did you mean 'cores'?"),
    ],
)
def test_an_impossible_study_is_refused_before_its_first_run(folder, settings, completed):
    words = [word for setting in settings for word in ("--set", setting)]
    assert completed in complaint(here.scaling("sweep", *words, "-o", folder))
    assert not folder.exists()


def test_a_list_outside_the_mask_is_refused(folder):
    need(CORES > 1, "two cores")
    first, second = sorted(read_topology().allowed)[:2]
    arguments = [*SMALL, "--set", f"placements=cpus:{second}", "-o", folder]
    message = complaint(scaling("sweep", *arguments, preexec_fn=lambda: os.sched_setaffinity(0, {first})))
    assert f"CPU {second} is outside the CPUs this process may use, {first}" in message


def test_a_mask_makes_the_machine_smaller(folder):
    first = min(read_topology().allowed)
    completed = scaling("sweep", "calibrated", "--dry-run", preexec_fn=lambda: os.sched_setaffinity(0, {first}))
    assert "on CPUs" in completed.stdout
    assert "2 cores" not in completed.stdout


def test_show_and_export_read_what_sweep_wrote(first, tmp_path):
    _, folder = first
    points = json.loads(here.scaling("show", folder, "--json").stdout)["points"]
    assert points[0]["speedup"] == points[0]["efficiency"] == 1.0
    assert scaling("export", folder, "--format", "csv", "-o", tmp_path / "rows.csv").returncode == 0
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == len(list(read_rows(folder))) + 1
    assert scaling("export", folder, "--format", "csv", "-o", "-").stdout == (tmp_path / "rows.csv").read_text()


@pytest.fixture
def one_cpu_quota():
    """A control group that gives one CPU's worth of time, made at the top."""
    made = None
    for base, files in (
        ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}),
        ("/sys/fs/cgroup", {"cpu.max": "100000 100000"}),
    ):
        group = Path(base, f"scaling-quota-{os.getpid()}")
        try:
            group.mkdir()
            for name, text in files.items():
                (group / name).write_text(text)
            made = group
            break
        except OSError:
            if group.is_dir():
                group.rmdir()
    need(made is not None, "the right to make a CPU control group")
    yield made
    made.rmdir()


def test_a_quota_below_the_cores_asked_for_is_refused(folder, one_cpu_quota):
    need(CORES > 1, "two cores")

    def join() -> None:
        (one_cpu_quota / "cgroup.procs").write_text(str(os.getpid()))

    message = complaint(scaling("sweep", *SMALL, "--set", "cores=2", "-o", folder, preexec_fn=join))
    assert "2 CPUs were requested, but the CPU quota of this control group is 1; raise" in message
    completed = scaling("sweep", *SMALL, "-o", folder, preexec_fn=join)
    assert "the study ends at 1 core" in completed.stderr
    assert {row.run.point.cores for row in read_rows(folder)} == {1}


@pytest.mark.slow
def test_a_budget_makes_whole_blocks_and_says_what_it_bought(folder):
    completed = scaling(
        "sweep", *SMALL, "--set", "launches=3", "--set", "precision=0.5", "--budget", "25s", "-o", folder
    )
    assert completed.returncode == 0, completed.stderr
    assert re.search(r"\d+ runs; .* known to within ± 50 %", completed.stderr)
    rows = list(read_rows(folder))
    assert len({row.run.key for row in rows}) == len(rows)
    assert rows[-1].run.point.cores == 1
