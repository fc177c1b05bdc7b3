"""Loads one of some CPUs during a random third of the time, until its standard input is closed.

    python -m benchmarks.disturbance CPUS SEED

A separate program, because processes started by a sweep's own process are killed at the end of a run.
"""

import random
import select
import subprocess
import sys

# Bursts of one to four seconds, gaps of nothing to ten: two and a half against five on average.
BURST_SECONDS, GAP_SECONDS = (1, 4), (0.0, 10.0)


def main() -> None:
    """Disturb until standard input is closed."""
    cpus, chance = [int(cpu) for cpu in sys.argv[1].split(",")], random.Random(sys.argv[2])
    while not select.select([sys.stdin], [], [], chance.uniform(*GAP_SECONDS))[0]:
        seconds = chance.randint(*BURST_SECONDS)
        command = ["stress-ng", "--cpu", "1", "--taskset", str(chance.choice(cpus)), "--timeout", f"{seconds}s"]
        subprocess.run([*command, "--quiet"], check=True)


if __name__ == "__main__":
    main()
