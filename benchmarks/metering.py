"""What metering costs: the CPU time of the sampling thread, and step times with the meter and without.

    python -m benchmarks.metering [--seconds 20] [--launches 10] [--packages 2] [--limit 300]

The meters are those of an invented machine: energy counters of packages and their DRAM as files, which another process
brings up to date. The steps are real: `calibrated` on one core and on all, where there is no CPU left for the thread.
Both variants take turns with each other, as `scaling compare --between energy=auto energy=none` has them: short turns,
and many pairs of launches rather than long ones, since the interval of the ratio is over pairs. What it will take is
said first; more pairs are made where the interval is wide, until `--limit` seconds have passed.
"""

import argparse
import multiprocessing
import os
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.shared.power import drawing_power, packages
from scaling.analysis.comparison import compare
from scaling.analysis.summary import Launch, summarize
from scaling.api.comparing import prepare_comparison
from scaling.machine.power import find_meters, package_cpus
from scaling.reporting.points import CHANGE_WORDS
from scaling.results.rows import launch_of, planned_launch
from scaling.running.local import LocalEngine
from scaling.running.power_meter import SECONDS_BETWEEN_SAMPLES, PowerMeter
from scaling.study.planning import estimated_seconds

WATTS = 60.0
VARIANTS = ("energy=auto", "energy=none")
STUDY = """
name = "metering"
workloads = ["calibrated serial=0.1"]
cores = "doubling"
design = "turns"
rounds = 4
turn_seconds = 0.5
"""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds of sampling alone")
    parser.add_argument("--launches", type=int, default=10, help="launches of each variant; 0 skips the comparison")
    parser.add_argument("--limit", type=float, default=300.0, help="longest time for the comparison, in seconds")
    parser.add_argument("--packages", type=int, default=2)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        root = Path(folder)
        packages(root, tuple(range(arguments.packages)), cpus_each=max(1, (os.cpu_count() or 1) // arguments.packages))
        ended = multiprocessing.get_context("spawn").Event()
        writer = multiprocessing.get_context("spawn").Process(
            target=_draw_power, args=(root, arguments.packages, ended)
        )
        writer.start()
        try:
            _print_cost(root, arguments.seconds)
            if arguments.launches:
                _print_comparison(root, arguments.launches, arguments.limit)
        finally:
            ended.set()
            writer.join()


def _draw_power(root: Path, count: int, ended: "multiprocessing.synchronize.Event") -> None:
    """Bring the counters up to date ten times per second."""
    zones = {f"intel-rapl:{number}{part}": WATTS for number in range(count) for part in ("", ":1")}
    with drawing_power(root, zones, seconds_between=0.1):
        ended.wait()


def _print_cost(root: Path, seconds: float) -> None:
    """The CPU time of the thread while it samples and does nothing else."""
    _wait_for_power(root)
    meter = PowerMeter(find_meters(root), package_cpus(root))
    before = meter.cpu_seconds()
    meter.begin()
    start = time.perf_counter()
    time.sleep(seconds)
    elapsed = time.perf_counter() - start
    used = meter.cpu_seconds() - before
    meter.end()
    meter.close()
    cpus = len(os.sched_getaffinity(0))
    print("| meters | samples per second | CPU µs per sample | of one CPU | of all CPUs here |\n|---|---|---|---|---|")
    per_sample = 1e6 * used * SECONDS_BETWEEN_SAMPLES / elapsed
    shares = (100 * used / elapsed, 100 * used / elapsed / cpus)
    rate = 1 / SECONDS_BETWEEN_SAMPLES
    print(f"| {len(meter.meters)} | {rate:.0f} | {per_sample:.0f} | {shares[0]:.3f} % | {shares[1]:.3f} % of {cpus} |")


def _wait_for_power(root: Path) -> None:
    """Sleep until the other process has begun: a counter that stands still is none."""
    counter = root / "sys/class/powercap/intel-rapl:0/energy_uj"
    first = counter.read_text()
    while counter.read_text() == first:
        time.sleep(0.05)


def _print_comparison(root: Path, launches: int, limit: float) -> None:
    """Step times with the meter and without, as `compare` judges them."""
    study = root / "metering.toml"
    study.write_text(STUDY)
    job = prepare_comparison(study, VARIANTS, root / "rows", [f"launches={launches}"], f"{limit:g}s")
    schedule, sides = job.schedule(), (list[Launch](), list[Launch]())
    expected = estimated_seconds(schedule.pending, job.first.study, {})
    print(f"\n{launches} pairs of launches, about {expected:.0f} s, and {limit:.0f} s at most", flush=True)
    start = time.perf_counter()
    with LocalEngine(job.first.study, job.first.topology, job.first.machine, root=root) as engine:
        for row in engine.execute(schedule):
            sides[schedule.next_side].append(replace(launch_of(row), energy=None))
            schedule.record(planned_launch(row))
    comparison = compare(summarize(sides[0]), summarize(sides[1]))
    print(f"took {time.perf_counter() - start:.0f} s\n")
    print("| cores | pairs | with the meter | without | without / with | verdict |\n|---|---|---|---|---|---|")
    for one in comparison.differences:
        first, second = (f"{1e3 * side.step.value:.3f} ms" if side.step else "-" for side in (one.first, one.second))
        ratio = f"{one.ratio.value:.4f} ({one.ratio.low or 0:.4f} to {one.ratio.high or 0:.4f})"
        pairs = min(one.first.launch_count, one.second.launch_count)
        print(f"| {one.point.cores} | {pairs} | {first} | {second} | {ratio} | {CHANGE_WORDS[one.verdict]} |")


if __name__ == "__main__":
    main()
