"""Machines with meters that nobody built: sysfs trees of RAPL, cpufreq and hwmon, and a GPU of an invented NVML."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.shared.machines import AmdahlMachine, machine
from scaling.analysis.energy import MeterEnergy
from scaling.results.rows import Row
from scaling.study.planning import plan
from scaling.study.spec import Study

NVML = Path(__file__).with_name("nvml")
RANGE_MICROJOULES = 262_143_328_850


def write(root: Path, files: dict[str, object]) -> None:
    """Write files of a tree."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


def packages(root: Path, numbers: tuple[int, ...] = (0, 1), *, dram: bool = True, cpus_each: int = 2) -> None:
    """Processor packages with an energy counter, power limits, DRAM, and the clocks of their CPUs."""
    (root / "tmp").mkdir(exist_ok=True)
    for number in numbers:
        zone = f"sys/class/powercap/intel-rapl:{number}"
        write(
            root,
            {
                f"{zone}/name": f"package-{number}",
                f"{zone}/energy_uj": 1000 * (1 + number),
                f"{zone}/max_energy_range_uj": RANGE_MICROJOULES,
                f"{zone}/enabled": 1,
                f"{zone}/constraint_0_name": "long_term",
                f"{zone}/constraint_0_power_limit_uw": 150_000_000,
                f"{zone}/constraint_0_max_power_uw": 200_000_000,
                f"{zone}/constraint_1_name": "short_term",
                f"{zone}/constraint_1_power_limit_uw": 180_000_000,
                f"{zone}:0/name": "core",
                f"{zone}:0/energy_uj": 5,
            },
        )
        if dram:
            write(
                root, {f"{zone}:1/name": "dram", f"{zone}:1/energy_uj": 7, f"{zone}:1/max_energy_range_uj": 65_712_999}
            )
    write(root, {"sys/class/powercap/intel-rapl/enabled": 1})
    for number in numbers:
        for cpu in range(number * cpus_each, (number + 1) * cpus_each):
            folder = f"sys/devices/system/cpu/cpu{cpu}"
            policy = f"sys/devices/system/cpu/cpufreq/policy{cpu}"
            write(
                root,
                {
                    f"{folder}/topology/physical_package_id": number,
                    f"{policy}/scaling_max_freq": 3_800_000,
                    f"{policy}/cpuinfo_min_freq": 800_000,
                    f"{policy}/cpuinfo_max_freq": 3_800_000,
                },
            )


def gpu_state(path: Path, **changes: object) -> Path:
    """The file of an invented GPU."""
    state = {"limit": 700, "load_watts": 600, "counted": 0.0, "since": time.monotonic(), "mhz": None}
    path.write_text(json.dumps({**state, "permitted": True, "counts": True, "processes": 0, **changes}))
    return path


def metered_rows(question: Study, cores: int = 8) -> list[Row]:
    """The rows of a study on a pretend machine with a meter: 20 W when idle and 10 W more for every core in use.

    A cap of power below that slows all workloads but `stream` by the root of how far below it is. One of the clock
    slows them by as much as it is below 3800 MHz, and takes the square of it off what cores draw.
    """
    rows = []
    for row in AmdahlMachine(serial=0.1, noise=0.002).execute(plan(question, machine(cores)).runs):
        point, steps = row.run.point, row.outcome.step_seconds
        clock = (point.cpu_max_mhz or 3800.0) / 3800.0
        demand = 20.0 + 10.0 * point.cores * point.replicas * clock**2
        watts = min(demand, point.cpu_power_watts or demand)
        slower = 1.0 if point.workload.startswith("stream") else (demand / watts) ** 0.5 / clock
        seconds = tuple(slower * step for step in steps)
        energy = MeterEnergy("package 0", "package", watts * sum(seconds), sum(seconds), len(seconds), watts, 20.0)
        rows.append(replace(row, outcome=replace(row.outcome, step_seconds=seconds), energy=(energy,)))
    return rows


@contextmanager
def drawing_power(root: Path, watts: dict[str, float], seconds_between: float = 0.005) -> Iterator[None]:
    """Counters, by the names of their zones, that go on as if so much power was drawn, until the end."""
    start, ended = time.monotonic(), threading.Event()

    def count() -> None:
        while not ended.wait(seconds_between):
            for zone, power in watts.items():
                joules = power * (time.monotonic() - start)
                path = root / "sys/class/powercap" / zone / "energy_uj"
                draft = path.with_name(".energy_uj")
                draft.write_text(f"{round(1e6 * joules) % RANGE_MICROJOULES}\n")
                draft.replace(path)

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
