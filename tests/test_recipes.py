"""The recipes of CONTRIBUTING.md work as they stand: each is applied to a copy, and used once by the command line."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scaling.running.lock import MachineLock
from tests.recipes import ROOT, apply, copy_with

EXAMPLE = ROOT / "docs" / "examples" / "gpu-cores"

STUDY = """
workloads = ["command: {command}"]
cores = [1]
launches = 1
rounds = 1
turn_seconds = 0.01
energy = "none"
{axis} = {values}
"""

# The command line of a copy on a machine whose files below `/` are in a folder, and which needs no time to settle.
PRETEND = """
import sys
from functools import partial
from pathlib import Path
from scaling.running import cohort, local

local.LocalEngine = partial(local.LocalEngine, root=Path(sys.argv.pop(1)))
cohort.SETTLE_SECONDS = cohort.CAPS_SETTLE_SECONDS = 0.01
from scaling.cli.main import main

main()
"""


class Project:
    """A copy of the project with a recipe, used in a folder of its own on a pretend machine."""

    def __init__(self, title: str, folder: Path) -> None:
        self.copy = copy_with(title, folder / "copy")
        self.root = folder / "root"
        (self.root / "tmp").mkdir(parents=True)
        self.environment = {**os.environ, "PYTHONPATH": str(self.copy), "SCALING_LOCK": str(folder / "lock")}
        self.results = folder / "results"
        self.study = folder / "study.toml"

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Start a command."""
        command = [sys.executable, "-c", PRETEND, self.root, *words]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            list(map(str, command)), cwd=self.copy, env=self.environment, text=True, **pipes, start_new_session=True
        )

    def call(self, *words: object) -> str:
        """What a command prints."""
        with self.start(*words) as process:
            printed, errors = process.communicate()
        assert process.returncode == 0, errors
        return printed

    def sweep(self, command: str, axis: str, values: str) -> None:
        """Measure a program with every value of an axis."""
        self.study.write_text(STUDY.format(command=command, axis=axis, values=values))
        self.call("sweep", self.study, "-o", self.results)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the sweep."""
        return [json.loads(line) for line in (self.results / "rows.jsonl").read_text().splitlines()]

    def points(self) -> list[dict[str, Any]]:
        """The points as JSON."""
        points: list[dict[str, Any]] = json.loads(self.call("show", "--json", self.results))["points"]
        return points

    def table(self) -> list[list[str]]:
        """The table of points: its headers, and the cells of each line."""
        lines = self.call("show", self.results).partition("\n\n")[2].splitlines()
        return [re.split(r"  +", line.strip()) for line in lines]

    def page(self) -> str:
        """The report."""
        return (self.results / "report.html").read_text()

    def values_shown(self, axis: str) -> set[object]:
        """The values of an axis, the same in the rows, the JSON and the table."""
        values = {point[axis] for point in self.points()}
        assert values == {row["run"][axis] for row in self.rows()}
        headers, *table = self.table()
        assert {line[headers.index(axis)] for line in table} == {"-" if one is None else str(one) for one in values}
        return values

    def reference(self, page: str) -> str:
        """A page of the reference, as the program writes it anew."""
        generate = [sys.executable, "docs/generate.py"]
        subprocess.run(generate, cwd=self.copy, env=self.environment, check=True)
        return (self.copy / "docs" / "reference" / page).read_text()


def test_an_axis_of_the_environment_is_two_files(tmp_path):
    project = Project("Add an axis of the environment", tmp_path)
    project.sweep("true", "huge_pages", "[false, true]")
    variables = {row["run"]["huge_pages"]: row["environment"].get("GLIBC_TUNABLES") for row in project.rows()}
    assert variables == {False: None, True: "glibc.malloc.hugetlb=1"}
    assert project.values_shown("huge_pages") == {False, True}
    assert "huge pages" in project.page()
    assert "| `huge_pages` | true or false, or both in a list (`false`) |" in project.reference("study.md")


@pytest.fixture
def with_numa_balancing(tmp_path):
    """A project with an axis of the machine, and the file that the axis sets."""
    project = Project("Add an axis of the machine", tmp_path)
    switch = project.root / "proc/sys/kernel/numa_balancing"
    switch.parent.mkdir(parents=True)
    switch.write_text("1")
    return project, switch


def test_an_axis_of_the_machine_is_set_for_its_runs_and_restored(with_numa_balancing, tmp_path):
    project, switch = with_numa_balancing
    seen = tmp_path / "seen"
    project.sweep(f"sh -c '(cat {switch}; echo) >> {seen}'", "numa_balancing", '["auto", false, true]')
    assert {*seen.read_text().split()} == {"0", "1"}
    assert switch.read_text() == "1"
    assert project.values_shown("numa_balancing") == {None, False, True}
    assert len({row["run"]["cohort"]["name"] for row in project.rows()}) == 1


def first_of(pipe: Path, process: subprocess.Popen[str]) -> str:
    """The first character in a named pipe; empty if the process ends before it writes any."""
    with ExitStack() as opened:
        written, ended = os.open(pipe, os.O_RDWR), os.pidfd_open(process.pid)
        for fd in (written, ended):
            opened.callback(os.close, fd)
        readable, _, _ = select.select([written, ended], [], [])
        return os.read(written, 1).decode() if written in readable else ""


@pytest.mark.parametrize(("value", "text"), [("false", "0"), ("true", "1")])
def test_an_axis_of_the_machine_is_restored_after_the_sweep_is_killed(with_numa_balancing, tmp_path, value, text):
    project, switch = with_numa_balancing
    before = {"0": "1", "1": "0"}[text]
    switch.write_text(before)
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    command = f"sh -c 'cat {switch} > {begun}; exec sleep 600'"
    project.study.write_text(STUDY.format(command=command, axis="numa_balancing", values=value))
    with project.start("sweep", project.study, "-o", project.results) as sweep:
        try:
            assert first_of(begun, sweep) == text
        finally:
            sweep.send_signal(signal.SIGKILL)
    MachineLock(True, lambda sentence: None, Path(project.environment["SCALING_LOCK"])).release()
    assert switch.read_text() == before


@pytest.mark.parametrize("title", ["Add a column", "Add a verdict and a rule"])
def test_a_recipe_fits_its_files(title, tmp_path):
    copy_with(title, tmp_path)


@pytest.mark.slow
def test_a_column_is_in_the_json_the_table_the_report_and_the_reference(tmp_path):
    project = Project("Add a column", tmp_path)
    shutil.copytree(EXAMPLE, project.results)
    points = project.points()
    assert all(point["watched_seconds"] > 0.0 for point in points)
    headers, *table = project.table()
    assert "watched" in headers
    assert {f"{one['watched_seconds']:.1f} s" for one in points} <= {cell for line in table for cell in line}
    project.call("report", project.results)
    assert f'data-value="{points[0]["watched_seconds"]}"' in project.page()
    assert "| `watched_seconds` | seconds from the start" in project.reference("fields.md")


@pytest.mark.slow
def test_a_verdict_is_in_the_json_the_table_the_report_and_the_reference(tmp_path):
    project = Project("Add a verdict and a rule", tmp_path)
    shutil.copytree(EXAMPLE, project.results)
    found = [point for point in project.points() if point["verdict_code"] == "two-speeds"]
    assert found
    assert all("far-apart" in point["doubt_codes"] for point in found)
    assert sum("two speeds: far apart" in line for line in project.table()) == len(found)
    project.call("report", project.results)
    assert "two speeds" in project.page()
    assert "far apart (`far-apart`) | 1.2 times |" in project.reference("verdicts.md")


def test_a_recipe_that_no_longer_fits_its_file_is_refused(tmp_path):
    (tmp_path / "module.py").write_text("one\ntwo\ntwo\n")
    apply(" # module.py\n+half\n one\n", tmp_path)
    assert (tmp_path / "module.py").read_text() == "half\none\ntwo\ntwo\n"
    for place in ("two", "three"):
        with pytest.raises(AssertionError, match=rf"module\.py has [02] times: {place}"):
            apply(f" # module.py\n+half\n {place}\n", tmp_path)
