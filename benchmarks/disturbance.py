"""Loads one of some CPUs during a random third of the time, until its standard input is closed.

    python -m benchmarks.disturbance CPUS SEED

A separate program, because processes started by a sweep's own process are killed at the end of a run. It uses
`stress-ng` where that is installed, and otherwise a loop in Python. `disturb` starts and ends it.
"""

import random
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Bursts of one to four seconds, gaps of nothing to ten: two and a half against five on average.
BURST_SECONDS, GAP_SECONDS = (1, 4), (0.0, 10.0)
SPIN = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
"""


def main() -> None:
    """Disturb until standard input is closed."""
    cpus, chance = [int(cpu) for cpu in sys.argv[1].split(",")], random.Random(sys.argv[2])
    while not select.select([sys.stdin], [], [], chance.uniform(*GAP_SECONDS))[0]:
        seconds = chance.randint(*BURST_SECONDS)
        subprocess.run(_burst(chance.choice(cpus), seconds), check=True)


def _burst(cpu: int, seconds: int) -> list[str]:
    """The command that loads a CPU for so long."""
    if shutil.which("stress-ng") is None:
        return [sys.executable, "-c", SPIN, str(cpu), str(seconds)]
    return ["stress-ng", "--cpu", "1", "--taskset", str(cpu), "--timeout", f"{seconds}s", "--quiet"]


@contextmanager
def disturb(cpus: Sequence[int], seed: int | str) -> Iterator[None]:
    """Have one of these CPUs loaded a random third of the time."""
    command = [sys.executable, "-m", "benchmarks.disturbance", ",".join(map(str, cpus)), str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as disturbing:
        yield
        assert disturbing.poll() is None, "the disturbance has ended by itself"


if __name__ == "__main__":
    main()
