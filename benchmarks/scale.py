"""Cost of large studies: planning 100,000 runs, printing them, and reading a folder of 100,000 rows.

    python -m benchmarks.scale [--runs 100000]

Each runs in its own process, as started by a user, with its wall time, CPU time and maximum memory, and that of all
processes it consists of, pages that several share counted once (PSS).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import psutil

from benchmarks.shared.machines import AmdahlMachine, machine
from scaling.results.rows import row_to_json
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml

SCALING = str(Path(sys.executable).with_name("scaling"))
PLAN = """
from scaling.study.planning import plan
from scaling.study.spec import study_from_toml
from benchmarks.shared.machines import machine
print(len(plan(study_from_toml({toml!r}, "large"), machine(100)).runs))
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    runs = parser.parse_args().runs
    here = _toml(runs, 'cores = "all"', 2)
    wide = _toml(runs, 'cores = "all"', 100)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "large.toml").write_text(here)
        made = _write_rows(Path(folder) / "results", wide)
        print(
            "| what | lines printed | seconds | of them CPU | MiB | MiB of all processes |\n|---|---|---|---|---|---|"
        )
        _measure("plan, 100 cores", [sys.executable, "-c", PLAN.format(toml=wide)])
        _measure("sweep --dry-run, this machine", [SCALING, "sweep", f"{folder}/large.toml", "--dry-run"])
        _measure(f"show ({made:.0f} MB)", [SCALING, "show", f"{folder}/results"])
        _measure("show --json", [SCALING, "show", f"{folder}/results", "--json"])
        _measure("export --format csv", [SCALING, "export", f"{folder}/results", "--format", "csv"])
        _measure("report", [SCALING, "report", f"{folder}/results"])


def _toml(runs: int, axis: str, cores: int) -> str:
    """A study of about so many runs: the rest of the axes is launches and items."""
    launches = 10
    items = max(1, runs // (launches * cores))
    listed = ", ".join(map(str, range(1, items + 1)))
    return f'workloads = ["calibrated"]\n{axis}\nlaunches = {launches}\nitems = [{listed}]\n'


def _write_rows(folder: Path, toml: str) -> float:
    """Rows of a pretend machine for every run of a study; the file's size in MB."""
    folder.mkdir()
    with (folder / "rows.jsonl").open("w") as file:
        for row in AmdahlMachine().execute(plan(study_from_toml(toml, "large"), machine(100)).runs):
            file.write(row_to_json(row) + "\n")
    return (folder / "rows.jsonl").stat().st_size / 1e6


def _measure(what: str, command: list[str]) -> None:
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        memory = _Memory(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        together = memory.end()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        lines = sum(1 for _ in output)
    remark = "" if process.returncode == 0 else f" (status {process.returncode})"
    cpu = usage.ru_utime + usage.ru_stime
    cells = [f"{what}{remark}", f"{lines:,}", f"{seconds:.1f}", f"{cpu:.1f}", f"{usage.ru_maxrss / 1024:.0f}"]
    print(f"| {' | '.join([*cells, f'{together / 2**20:.0f}'])} |", flush=True)


class _Memory:
    """The most memory that a process and its descendants had together, looked at four times a second."""

    def __init__(self, pid: int) -> None:
        self._process, self._most, self._ended = psutil.Process(pid), 0, Event()
        self._thread = Thread(target=self._look)
        self._thread.start()

    def end(self) -> int:
        """The most bytes, now that the process has ended."""
        self._ended.set()
        self._thread.join()
        return self._most

    def _look(self) -> None:
        while not self._ended.wait(0.25):
            with suppress(psutil.Error):
                processes = [self._process, *self._process.children(recursive=True)]
                self._most = max(self._most, sum(process.memory_full_info().pss for process in processes))


if __name__ == "__main__":
    main()
