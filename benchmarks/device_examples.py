"""Measurements that docs/examples still lacks, queued for a machine with sixteen cores and a GPU, lent for minutes.

    python -m benchmarks.device_examples KEPT                       # what each part must reach, and lacks
    python -m benchmarks.device_examples KEPT WORK --seconds 1500   # there: the next parts, in copies of kept folders
    python -m benchmarks.device_examples KEPT WORK --keep           # here: append whole launches of WORK to KEPT

A part of `device_examples.toml` is a study that adds launches to a kept folder, under the name of its machine. One that
the time ends is interrupted, which keeps its rows, and goes on when it is given again.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from scaling.results.store import read_rows
from scaling.results.traces import read_traced_rows
from scaling.study.spec import Study, study_to_toml

SCALING = (sys.executable, "-c", "from scaling.cli.main import main; main()")
MACHINE_NAME = "sixteen"
STORED = ("rows.jsonl", "traces.jsonl", "power.jsonl")

# How long a command that was interrupted has for what it does then.
GRACE_SECONDS = 30.0
# A part may take so many times its minutes.
PATIENCE = 1.5


@dataclass(frozen=True, slots=True)
class Part:
    """A study, the kept folder that its launches go to, its minutes per launch, and the traced steps of a profile."""

    name: str
    folder: str
    minutes: float
    study: Study
    steps: int | None = None

    def command(self, work: Path) -> list[str]:
        """The words of the process; what it measures is written beside its folder."""
        work.mkdir(parents=True, exist_ok=True)
        file = work / f"{self.name}.toml"
        named = replace(self.study, name=self.folder, machine_name=MACHINE_NAME)
        file.write_text(study_to_toml(named, f"part {self.name}"))
        how = ["sweep", "--no-report"] if self.steps is None else ["profile", "--steps", str(self.steps)]
        return [*SCALING, how[0], str(file), *how[1:], "-o", str(work / self.name)]

    def lacking(self, kept: Path) -> int:
        """The launches that the series with the fewest lacks, of those that went well with all steps."""
        launches = defaultdict(set)
        for run in _runs(kept / self.folder, self.steps):
            launches[run.point.workload, run.point.framework].add(run.launch)
        series = product(self.study.workloads, self.study.framework)
        return self.study.launches - min(min(len(launches[one]), self.study.launches) for one in series)


def _runs(folder: Path, steps: int | None) -> Iterator[Any]:
    """The runs of a kept folder that went well."""
    if steps is None:
        rows = read_rows(folder) if (folder / "rows.jsonl").exists() else ()
    else:
        rows = (one.row for one in read_traced_rows(folder)) if (folder / "traces.jsonl").exists() else ()
    return (row.run for row in rows if row.outcome.status == "ok" and row.run.traced == steps)


def read_parts(text: str) -> tuple[Part, ...]:
    """The parts of a queue, each with the keys of its study laid over by its own."""
    queue = tomllib.loads(text)
    return tuple(_part(queue["studies"], **table) for table in queue["parts"])


def _part(
    studies: dict[str, Any],
    name: str,
    folder: str,
    minutes: float,
    study: str,
    steps_traced: int | None = None,
    **own: Any,
) -> Part:
    return Part(name, folder, minutes, Study(**{**studies[study], **own}), steps_traced)


PARTS = read_parts(Path(__file__).with_suffix(".toml").read_text())


def show(kept: Path) -> None:
    """Print the queue: what each part must reach, what it lacks, and how long that takes."""
    print("| part | folder | networks | must reach | lacks | minutes |\n| --- | --- | --- | --- | --- | --- |")
    for part in PARTS:
        steps = f" of {part.steps} steps" if part.steps else ""
        lacking = part.lacking(kept)
        wanted = f"{part.study.launches} launches{steps} | {lacking or 'nothing'} | {lacking * part.minutes:.0f} |"
        print(f"| {part.name} | {part.folder} | {', '.join(part.study.workloads)} | {wanted}")


def measure(kept: Path, work: Path, parts: Iterable[Part], seconds: float) -> None:
    """Carry out parts one after another, each in a copy of what is kept, as long as the time lasts."""
    end = time.monotonic() + seconds
    for part in parts:
        left = min(end - time.monotonic(), PATIENCE * 60 * part.minutes * part.lacking(kept))
        if left <= 0:
            continue
        _copy(kept / part.folder, work / part.name)
        print(f"{time.strftime('%T')} {part.name} begins, {end - time.monotonic():.0f} s left", flush=True)
        status = carry_out(part.command(work), left)
        print(f"{time.strftime('%T')} {part.name} ends, status {status}", flush=True)


def _copy(kept: Path, work: Path) -> None:
    """Runs that are kept are not made again; whose machine they are of is compared, and no other key of theirs."""
    if kept.exists() and not work.exists():
        work.mkdir(parents=True)
        for name in ("rows.jsonl", "traces.jsonl", "machine.json"):
            if (kept / name).exists():
                shutil.copy(kept / name, work / name)


def carry_out(command: list[str], seconds: float) -> int | None:
    """The status of a command, interrupted where it takes longer."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        return process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def keep(kept: Path, work: Path, part: Part) -> int:
    """Append the whole launches of a part that the kept folder lacks; the number of their runs."""
    made, folder = work / part.name, kept / part.folder
    if made.exists() and not folder.exists():
        shutil.copytree(made, folder, ignore=lambda _, names: {*names} & {*STORED})
    runs = 0
    for name in STORED:
        there = {_identity(run) for run in _stored(folder / name)}
        whole = _whole_launches(run for run in _stored(made / name) if _identity(run) not in there)
        if whole:
            with (folder / name).open("a") as file:
                file.writelines(json.dumps(run, separators=(",", ":"), ensure_ascii=False) + "\n" for run in whole)
        runs += len(whole) if name != "power.jsonl" else 0
    return runs


def _stored(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _identity(stored: dict[str, Any]) -> str:
    return json.dumps([stored["run"], stored["started_at"]])


def _whole_launches(stored: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but those of a cohort that was cut short, with step times rounded to 10 ns."""
    runs = [(one["run"].get("cohort") or {}, one) for one in stored]
    members = Counter(cohort.get("name") for cohort, _ in runs)
    whole = [one for cohort, one in runs if cohort.get("members") in (None, members[cohort.get("name")])]
    for one in whole:
        if "outcome" in one:
            one["outcome"]["step_seconds"] = [round(seconds, 8) for seconds in one["outcome"]["step_seconds"]]
    return whole


def main() -> None:
    """Show the queue, carry its parts out, or keep what they measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kept", type=Path, metavar="KEPT")
    parser.add_argument("work", type=Path, metavar="WORK", nargs="?")
    parser.add_argument("--seconds", type=float, help="run the next parts for this long, in folders of WORK")
    parser.add_argument("--keep", action="store_true", help="append the runs in WORK to KEPT")
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS], metavar="PART")
    given = parser.parse_args()
    parts = [part for part in PARTS if given.only is None or part.name in given.only]
    if given.keep:
        for part in parts:
            print(f"{part.name}: {keep(given.kept, given.work, part)} runs kept in {given.kept / part.folder}")
    elif given.seconds:
        measure(given.kept, given.work, parts, given.seconds)
    else:
        show(given.kept)


if __name__ == "__main__":
    main()
