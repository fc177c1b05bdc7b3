"""Measurements that docs/examples still lacks, queued for a machine with sixteen cores and a GPU, lent for minutes.

    python -m benchmarks.device_examples KEPT                       # what each part must reach, and lacks
    python -m benchmarks.device_examples KEPT WORK --seconds 560    # there: the next parts, in folders of WORK
    python -m benchmarks.device_examples KEPT WORK --keep           # here: append whole launches of WORK to KEPT

A part of `device_examples.toml` is a study whose launches go to a kept folder, under the name of its machine. One that
the time ends is interrupted, which keeps its whole cohorts; the same command goes on with the parts in WORK.

With every WORK, the parts that `begin_each_use` come first and add launches to the kept ones. At most one part that is
`one_sitting` follows: its launches are made in one WORK, not added to kept ones.

A part that measures programs runs in WORK/inputs. The programs are found in the folder of `--programs`, then in PATH,
and their libraries in its `lib`. `benchmarks/shared/programs` has the source of one.
"""

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.shared.programs.inputs import write_inputs
from scaling.results.compressed import compressed, open_part, parts_of
from scaling.results.files import COMPRESSED
from scaling.results.jsonl import has_lines
from scaling.results.store import ROWS, read_rows
from scaling.results.traces import POWER
from scaling.study.programs import Program
from scaling.study.spec import Study, study_to_toml

ROOT = Path(__file__).parent.parent
SCALING = (sys.executable, "-c", "from scaling.cli.main import main; main()")
MACHINE_NAME = "sixteen"
STORED = (ROWS.file, POWER.file)
_COMPRESSED = tuple(f"{name}{COMPRESSED}" for name in STORED)
INPUTS = "inputs"

# How long a command that was interrupted has for what it does then.
GRACE_SECONDS = 30.0
# A part may take so many times its minutes.
PATIENCE = 1.5


@dataclass(frozen=True, slots=True)
class Part:
    """A study, the kept folder that its launches go to, and its minutes per launch."""

    name: str
    folder: str
    minutes: float
    study: Study
    begins_each_use: bool = False
    one_sitting: bool = False

    def lacking(self, kept: Path) -> int:
        """The launches that the series with the fewest lacks, of those that went well."""
        launches = _launches(kept / self.folder)
        if self.begins_each_use or (self.one_sitting and not launches):
            return self.study.launches
        if self.one_sitting:
            return 0
        names = [*self.study.workloads, *(program.name for program in self.study.programs)]
        fewest = min(len(launches[series]) for series in product(names, self.study.framework))
        return max(0, self.study.launches - fewest)

    def launches_in(self, kept: Path) -> int:
        """The launches that its folder has in the end; each use adds some to the kept ones."""
        made = _launches(kept / self.folder).values() if self.begins_each_use else ()
        return max((max(launches) for launches in made), default=0) + self.study.launches

    def begin(self, kept: Path, work: Path) -> None:
        """Write its study, unless an earlier call began it, and drop the cohort that the end of that call cut short."""
        folder = work / self.name
        if self.begun(work):
            _drop_cut_cohorts(folder)
            return
        _copy(kept / self.folder, folder)
        named = replace(self.study, name=self.folder, machine_name=MACHINE_NAME, launches=self.launches_in(kept))
        self._file(work).write_text(study_to_toml(named, f"part {self.name}"))

    def begun(self, work: Path) -> bool:
        """Whether an earlier call, or this one, began it."""
        return self._file(work).exists()

    def command(self, work: Path) -> list[str]:
        """The words of the process."""
        return [*SCALING, "sweep", "--no-report", str(self._file(work)), "-o", str(work / self.name)]

    def _file(self, work: Path) -> Path:
        return work / f"{self.name}.toml"


def _launches(folder: Path) -> defaultdict[tuple[str, str], set[int]]:
    """The launches of a kept folder that went well, by workload and framework."""
    launches = defaultdict(set)
    for row in read_rows(folder) if has_lines(folder, ROWS) else ():
        if row.outcome.status == "ok":
            launches[row.run.point.workload, row.run.point.framework].add(row.run.launch)
    return launches


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
    begins_each_use: bool = False,
    one_sitting: bool = False,
    **own: Any,
) -> Part:
    keys = {**studies[study], **own}
    programs = tuple(Program(**table) for table in keys.pop("programs", ()))
    return Part(name, folder, minutes, Study(**keys, programs=programs), begins_each_use, one_sitting)


PARTS = read_parts(Path(__file__).with_suffix(".toml").read_text())


def show(kept: Path) -> None:
    """Print the queue: what each part must reach, what it lacks, and how long that takes."""
    print("| part | folder | measures | must reach | lacks | minutes |\n| --- | --- | --- | --- | --- | --- |")
    for part in PARTS:
        names = ", ".join((*part.study.workloads, *(program.name for program in part.study.programs)))
        lacking = part.lacking(kept)
        wanted = f"{part.launches_in(kept)} launches | {lacking or 'nothing'} | {lacking * part.minutes:.0f} |"
        print(f"| {part.name} | {part.folder} | {names} | {wanted}")


def measure(kept: Path, work: Path, parts: Iterable[Part], seconds: float, programs: Path | None = None) -> None:
    """Carry out parts one after another, each in a folder of its own, as long as the time lasts."""
    end = time.monotonic() + seconds
    parts = tuple(parts)
    work.mkdir(parents=True, exist_ok=True)
    for part in parts:
        missing = part.study.launches if part.begun(work) else part.lacking(kept)
        left = min(end - time.monotonic(), PATIENCE * 60 * part.minutes * missing)
        if left <= 0 or _another_sitting(part, parts, work):
            continue
        part.begin(kept, work)
        print(f"{time.strftime('%T')} {part.name} begins, {end - time.monotonic():.0f} s left", flush=True)
        if part.study.programs:
            prepare_inputs(work / INPUTS, programs)
        status = carry_out(part.command(work), left, work / INPUTS if part.study.programs else ROOT)
        print(f"{time.strftime('%T')} {part.name} ends, status {status}", flush=True)


def _another_sitting(part: Part, parts: Iterable[Part], work: Path) -> bool:
    """Whether a part would be the second sitting of this work, and so cut short."""
    others = (one for one in parts if one.one_sitting and one.begun(work))
    return part.one_sitting and not part.begun(work) and any(others)


def _copy(kept: Path, work: Path) -> None:
    """Runs that are kept are not made again; whose machine they are of is compared, and no other key of theirs."""
    if kept.exists():
        work.mkdir(parents=True)
        for path in (*parts_of(kept / ROWS.file), kept / "machine.json"):
            shutil.copy(path, work / path.name)


def prepare_inputs(folder: Path, programs: Path | None) -> None:
    """A folder with the inputs of programs, beside the programs themselves: so their rows name no folder."""
    if folder.exists():
        return
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    if programs is not None:
        shutil.copytree(programs, unfinished)
    write_inputs(unfinished)
    unfinished.rename(folder)


def carry_out(command: list[str], seconds: float, folder: Path = ROOT) -> int | None:
    """The status of a command in a folder whose programs come first, interrupted if it takes longer."""
    variables = {**os.environ, "PATH": _path(folder, "PATH"), "PYTHONPATH": _path(ROOT, "PYTHONPATH")}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=folder, env=variables)
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        return process.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _path(first: Path, variable: str) -> str:
    return os.pathsep.join(filter(None, (str(first), os.environ.get(variable))))


def keep(kept: Path, work: Path, part: Part) -> int:
    """Append the whole launches of a part that the kept folder lacks; the number of their runs."""
    made, folder = work / part.name, kept / part.folder
    if made.exists() and not folder.exists():
        shutil.copytree(made, folder, ignore=lambda _, names: {*names} & {*STORED, *_COMPRESSED})
    runs = 0
    for name in STORED:
        earlier = _stored(folder / name)
        there = {_identity(run) for run in earlier}
        whole = _whole_launches(run for run in _stored(made / name) if _identity(run) not in there)
        if whole:
            lines = _lines([*earlier, *map(_rounded, whole)])
            compressed(folder / name).write_bytes(lzma.compress("".join(lines).encode(), preset=9))
            (folder / name).unlink(missing_ok=True)
        runs += len(whole) if name != "power.jsonl" else 0
    return runs


def _drop_cut_cohorts(folder: Path) -> None:
    """Leave the whole cohorts of a folder, so that the next sweep makes the others again."""
    for name in STORED:
        stored = _stored(folder / name)
        whole = _whole_launches(stored)
        if len(whole) < len(stored):
            (folder / name).write_text("".join(_lines(whole)))
            compressed(folder / name).unlink(missing_ok=True)


def _stored(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file; a killed sweep may have torn the last."""
    stored = []
    for part in parts_of(path):
        with open_part(part) as lines:
            stored += [json.loads(line) for line in lines if line.endswith(b"\n")]
    return stored


def _lines(stored: Iterable[dict[str, Any]]) -> list[str]:
    return [json.dumps(run, separators=(",", ":"), ensure_ascii=False) + "\n" for run in stored]


def _identity(stored: dict[str, Any]) -> str:
    return json.dumps([stored["run"], stored["started_at"]])


def _whole_launches(stored: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but those of a cohort that was cut short."""
    runs = [(one["run"].get("cohort") or {}, one) for one in stored]
    members = Counter(cohort.get("name") for cohort, _ in runs)
    return [one for cohort, one in runs if cohort.get("members") in (None, members[cohort.get("name")])]


def _rounded(stored: dict[str, Any]) -> dict[str, Any]:
    """A run with its step times rounded to 10 ns."""
    if "outcome" in stored:
        stored["outcome"]["step_seconds"] = [round(seconds, 8) for seconds in stored["outcome"]["step_seconds"]]
    return stored


def pack(work: Path, file: Path) -> None:
    """Write the results in WORK, without inputs, as one file."""
    with tarfile.open(file, "w:xz") as archive:
        for path in sorted(work.iterdir()):
            if path.stem != INPUTS:
                archive.add(path, path.name)


def main() -> None:
    """Show the queue, carry its parts out, or keep what they measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kept", type=Path, metavar="KEPT")
    parser.add_argument("work", type=Path, metavar="WORK", nargs="?")
    parser.add_argument("--seconds", type=float, help="run the next parts for this long, in folders of WORK")
    parser.add_argument("--programs", type=Path, metavar="DIR", help="programs that PATH may lack, for parts with some")
    parser.add_argument("--pack", type=Path, metavar="FILE.tar.xz", help="write the results in WORK as one file")
    parser.add_argument("--keep", action="store_true", help="append the runs in WORK to KEPT")
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS], metavar="PART")
    given = parser.parse_args()
    parts = [part for part in PARTS if given.only is None or part.name in given.only or part.begins_each_use]
    if given.keep:
        for part in parts:
            print(f"{part.name}: {keep(given.kept, given.work, part)} runs kept in {given.kept / part.folder}")
    elif given.work:
        if given.seconds:
            measure(given.kept, given.work.resolve(), parts, given.seconds, given.programs)
        if given.pack:
            pack(given.work, given.pack)
    else:
        show(given.kept)


if __name__ == "__main__":
    main()
