"""The time of programs that print much, relative to a loop of taskset that discards their output, in the same run.

    python -m benchmarks.output [--launches 8]

Both execute a program alternately on one CPU. Programs that are not installed are left out.
"""

import argparse
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from scaling.machine.sysfs import read_machine, read_topology
from scaling.running.local import LocalEngine
from scaling.study.planning import plan
from scaling.study.programs import Program
from scaling.study.spec import Study

RECORD = b'{"number": 7, "list": [1, 2, 3], "text": "some text"}\n'


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--launches", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=200, help="size of the largest output")
    given = parser.parse_args()
    print("| program | > /dev/null, ms | scaling, ms | wall, ratio | CPU, ratio | output |")
    print("| --- | --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        for argv in _programs(Path(folder), given.megabytes):
            if shutil.which(argv[0]):
                _compare(argv, given.launches)


def _programs(folder: Path, megabytes: int) -> list[list[str]]:
    large, lines, records = (str(folder / name) for name in ("large", "lines", "records"))
    Path(large).write_bytes(os.urandom(megabytes << 20))
    numbers = range(4000 * megabytes)
    Path(lines).write_text("".join(f"{7919 * number % 1_000_003}\n" for number in numbers))
    Path(records).write_bytes(RECORD * (1000 * megabytes))
    return [
        ["seq", str(5000 * megabytes)],
        ["cat", large],
        ["sort", "--parallel=1", lines],
        ["zstd", "-c", "-q", lines],
        ["rg", "-j1", "7", lines],
        ["jq", "-c", ".list", records],
    ]


def _compare(argv: Sequence[str], launches: int) -> None:
    topology = read_topology()
    study = Study(programs=(Program(name="program", command=tuple(argv)),), cores=(1,), launches=launches)
    bare, own = [], []
    with LocalEngine(study, topology, read_machine(topology)) as engine:
        for row in engine.execute(plan(study, topology).runs):
            bare.append(_bare(argv))
            own.append((row.outcome.step_seconds[0], row.witness.cpu_seconds or 0.0))
    pairs = list(zip(own, bare, strict=True))
    wall, cpu = (median(mine[part] / other[part] for mine, other in pairs) for part in (0, 1))
    seconds = 1e3 * median(other[0] for other in bare), 1e3 * median(mine[0] for mine in own)
    name = " ".join(Path(word).name for word in argv)
    print(
        f"| {name} | {seconds[0]:.1f} | {seconds[1]:.1f} | {wall:.2f} | {cpu:.2f} | {row.witness.output} |", flush=True
    )


def _bare(argv: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one execution whose output is discarded."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    cpu = str(min(os.sched_getaffinity(0)))
    subprocess.run(["taskset", "-c", cpu, *argv], stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
