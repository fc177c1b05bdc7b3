"""Hand-off cost of `calibrated`: step time beyond the work itself, with helper processes and with queued threads.

    python -m benchmarks.calibrated [--rounds 5] [--serial 0.1]

For 1, 2, 4, … and all cores, in fresh processes pinned to as many CPUs as they have threads: the seconds of a step that
does no work, and the median of steps of published size. Both ways take turns, round by round; printed are the lowest
hand-off, as other load only adds to it, and the median step. The share is that of the hand-off in the step; the shift
is what the hand-off adds to the serial fraction of the step times (Karp-Flatt), one core's own subtracted.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from statistics import median
from threading import Thread

from scaling.analysis.serial_fraction import StatedTruth, expected_serial_fraction
from scaling.machine.sysfs import read_topology
from scaling.workloads.calibrated import Calibrated, division_chain
from scaling.workloads.helpers import WORK

STEPS = 12
Measured = tuple[float, float]


class QueueThreads(Calibrated):
    """The same step with threads that take their shares from a queue, one interpreter lock for all of them."""

    def prepare(self) -> None:
        """Start the threads beside the main one."""
        self.tasks: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self.done: SimpleQueue[None] = SimpleQueue()
        self.others = [division_chain(share) for share in self.shares[1:]]
        for _ in self.others:
            Thread(target=self._serve, daemon=True).start()

    def take_step(
        self,
        serial_part: Callable[[], object],
        own_share: Callable[[], object],
        command: int,
        serial_seconds: float = 0.0,
    ) -> float:
        """Do one part alone, then one beside the threads, which sleep until they are woken."""
        serial_part()
        for share in self.others:
            self.tasks.put(share if command == WORK else own_share)
        own_share()
        for _ in self.others:
            self.done.get()
        return serial_seconds

    def _serve(self) -> None:
        while True:
            self.tasks.get()()
            self.done.put(None)


WAYS: dict[str, type[Calibrated]] = {"queue": QueueThreads, "helpers": Calibrated}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serial", type=float, default=0.1)
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "CPUS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        way, cpus = arguments.measure
        print(json.dumps(_measure(WAYS[way], json.loads(cpus), arguments.serial)))
        return
    print("| threads | queue: hand-off µs | share | shift of s | helpers: hand-off µs | share | shift of s |")
    print("|---|---|---|---|---|---|---|")
    for line in _lines(arguments.rounds, arguments.serial):
        print(line, flush=True)


def _lines(rounds: int, serial: float) -> Iterator[str]:
    topology = read_topology()
    cpus = [core[0] for core in topology.cores if core[0] in topology.allowed]
    counts = sorted({2**power for power in range(len(cpus).bit_length())} | {len(cpus)})
    one: dict[str, Measured] = {}
    for count in counts:
        measured = _measure_ways(cpus[:count], rounds, serial)
        one = one or measured
        cells = [_cells(*measured[way], *one[way], count, serial) for way in WAYS]
        yield f"| {count} | {' | '.join(cells)} |"


def _cells(hand_off: float, step: float, one_hand_off: float, one_step: float, count: int, serial: float) -> str:
    stated = StatedTruth(serial, hand_off)
    one = StatedTruth(serial, one_hand_off)
    shift = expected_serial_fraction(one_step, one, count, stated) - serial if count > 1 else 0.0
    return f"{1e6 * hand_off:.1f} | {100 * hand_off / step:.3f} % | {shift:+.5f}"


def _measure_ways(cpus: list[int], rounds: int, serial: float) -> dict[str, Measured]:
    """The lowest hand-off and the median step over rounds, by way."""
    runs: dict[str, list[Measured]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for way in sorted(WAYS, reverse=number % 2 == 1):
            runs[way].append(_run(way, cpus, serial))
    return {way: (min(run[0] for run in made), median(run[1] for run in made)) for way, made in runs.items()}


def _run(way: str, cpus: list[int], serial: float) -> Measured:
    command = [sys.executable, "-m", "benchmarks.calibrated", "--serial", str(serial), "--measure", way, str(cpus)]
    hand_off, step = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return hand_off, step


def _measure(way: type[Calibrated], cpus: list[int], serial: float) -> Measured:
    """The hand-off and the median step of a workload on these CPUs."""
    os.sched_setaffinity(0, cpus)
    divisions = 16_000_000
    workload = way(round(serial * divisions), round((1 - serial) * divisions), len(cpus), 1)
    workload.prepare()
    seconds = [_time_step(workload) for _ in range(STEPS)]
    return workload.hand_off_seconds(), median(seconds)


def _time_step(workload: Calibrated) -> float:
    start = time.perf_counter()
    workload.step()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
