"""Meters of energy and power, and the limits of power and clocks that the kernel has in files.

Energy of processor packages and DRAM by RAPL through powercap (Khan et al., "RAPL in Action", ACM TOMPECS 3(2), 2018);
power of the whole machine by hwmon (ACPI power meters, POWER) and of a GPU. Limits by RAPL and cpufreq.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from scaling.errors import MachineError
from scaling.machine.gpus import AVERAGED_SECONDS, Gpu
from scaling.machine.kernel_files import numbered_folders, read_number, read_text
from scaling.machine.sysfs import HERE

Domain = Literal["package", "dram", "gpu", "board"]

POWERCAP = "sys/class/powercap"
MONITORS = "sys/class/hwmon"

# Drivers with power sensors of the whole machine; POWER labels them.
BOARD_DRIVERS = ("power_meter", "ibmpowernv")
BOARD_LABEL = "System"

CPU_FOLDER = "sys/devices/system/cpu"

# Limits of a package that are capped: its mean power over about a second, and its peaks.
CONSTRAINTS = ("long_term", "short_term")

# The lowest and the highest limit, None if unbounded.
Range = tuple[float | None, float | None]


class MeterReading(NamedTuple):
    """The energy counter of a meter, its power, or both; `mean_watts` is over its `averaged_seconds`."""

    joules: float | None = None
    watts: float | None = None
    mean_watts: float | None = None


@dataclass(frozen=True, slots=True)
class Meter:
    """A meter of energy or power of a part of the machine; its counter wraps at `range_joules`.

    `package` is also the package of DRAM. A `quick` meter is worth more than ten samples per second.
    """

    name: str
    domain: Domain
    read: Callable[[], MeterReading]
    package: int | None = None
    range_joules: float | None = None
    averaged_seconds: float = 0.0
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Meters:
    """The readable meters of a machine, and sentences about the unreadable ones."""

    meters: tuple[Meter, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Zone:
    """A power zone of powercap: a package, its DRAM, or the platform."""

    folder: Path
    domain: Domain
    package: int | None
    name: str


def find_meters(root: Path = HERE, gpu: Gpu | None = None) -> Meters:
    """The meters of the processor, of the machine, and of a given GPU."""
    counters = [_rapl_meter(zone) for zone in zones(root)]
    rapl = (meter for meter in counters if isinstance(meter, Meter))
    problems = tuple(problem for problem in counters if isinstance(problem, str))
    return Meters((*rapl, *_board_meters(root), *([_gpu_meter(gpu)] if gpu else ())), problems)


def _gpu_meter(gpu: Gpu) -> Meter:
    return Meter(
        gpu.label,
        "gpu",
        lambda: MeterReading(gpu.joules(), *gpu.powers()),
        averaged_seconds=AVERAGED_SECONDS,
        quick=True,
    )


def zones(root: Path) -> Iterator[Zone]:
    """The zones of packages, of their DRAM and of the platform; a package of several dies has one per die."""
    folder = root / POWERCAP
    # Zones of memory-mapped registers (intel-rapl-mmio) repeat the packages.
    paths = folder.iterdir() if folder.is_dir() else ()
    rapl = (path for path in paths if re.fullmatch(r"intel-rapl(:\d+)+", path.name))
    for path in sorted(rapl, key=lambda path: [int(number) for number in re.findall(r"\d+", path.name)]):
        name = read_text(path / "name") or ""
        package = _package_of(name)
        if package is not None:
            yield Zone(path, "package", package, name.replace("-", " "))
        elif name == "psys":
            yield Zone(path, "board", None, "platform")
        elif name == "dram":
            parent = read_text(folder / path.name.rpartition(":")[0] / "name") or ""
            package = _package_of(parent)
            yield Zone(path, "dram", package, parent.replace("package-", "dram ").replace("-", " ") or "dram")


def _package_of(name: str) -> int | None:
    match = re.fullmatch(r"package-(\d+)(-die-\d+)?", name)
    return int(match[1]) if match else None


def _rapl_meter(zone: Zone) -> Meter | str:
    """The meter of a zone, or a sentence if it cannot be read."""
    counter = zone.folder / "energy_uj"
    try:
        first = counter.read_text()
    except PermissionError:
        return (
            f"only root may read the energy of {zone.name} ({counter}); run as root, or have root run: chmod a+r "
            f"{counter}"
        )
    except OSError as error:
        return f"the energy of {zone.name} cannot be read: {counter}: {error.strerror}"
    largest = read_number(zone.folder / "max_energy_range_uj")
    if not first.strip().isdecimal():
        return f"the energy of {zone.name} cannot be read: {counter} contains {first.strip()[:20]!r}, not a number"
    return Meter(
        name=zone.name,
        domain=zone.domain,
        read=_reader(counter, lambda joules: MeterReading(joules=joules)),
        package=zone.package,
        range_joules=largest * 1e-6 if largest else None,
    )


def _board_meters(root: Path) -> Iterator[Meter]:
    """The power sensors of the whole machine; an averaging one only if there is no other."""
    for folder in numbered_folders(root / MONITORS, "hwmon").values():
        if read_text(folder / "name") not in BOARD_DRIVERS:
            continue
        for path in (*sorted(folder.glob("power*_input")), *sorted(folder.glob("power*_average"))):
            label = read_text(path.with_name(f"{path.name.partition('_')[0]}_label"))
            if label in (None, BOARD_LABEL) and read_number(path) is not None:
                reader = _reader(path, lambda watts: MeterReading(watts=watts))
                yield Meter(f"board {path.parent.name}", "board", reader)
                break


def _reader(path: Path, reading: Callable[[float | None], MeterReading]) -> Callable[[], MeterReading]:
    """A function that reads a file in millionths; it is called often, so it avoids `read_text`."""
    name = str(path)

    def read() -> MeterReading:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return reading(None)
        try:
            return reading(int(os.read(fd, 64)) * 1e-6)
        except (OSError, ValueError):
            return reading(None)
        finally:
            os.close(fd)

    return read


def package_cpus(root: Path = HERE) -> dict[int, frozenset[int]]:
    """The CPUs of every package, by the number of its meters."""
    members: dict[int, set[int]] = {}
    for cpu, folder in numbered_folders(root / CPU_FOLDER, "cpu").items():
        package = read_number(folder / "topology/physical_package_id") or 0  # -1 on some virtual machines
        members.setdefault(max(0, package), set()).add(cpu)
    return {package: frozenset(cpus) for package, cpus in members.items()}


@dataclass(frozen=True, slots=True)
class LimitFile:
    """A file with a limit: its content so far, and the range of the limit."""

    path: Path
    before: str
    lowest: float | None = None
    highest: float | None = None


def power_limits(root: Path) -> list[LimitFile]:
    """The files with the power limits of packages; MachineError if they are switched off."""
    files = []
    for zone in zones(root):
        constraints = sorted(zone.folder.glob("constraint_*_name")) if zone.domain == "package" else ()
        for path in constraints:
            prefix = path.name.removesuffix("_name")
            limit, highest = zone.folder / f"{prefix}_power_limit_uw", zone.folder / f"{prefix}_max_power_uw"
            if read_text(path) in CONSTRAINTS and (before := read_text(limit)):
                top = _scaled(highest, 10**6) if read_text(path) == CONSTRAINTS[0] else None
                files.append(LimitFile(limit, before, highest=top or None))
        enabled = zone.folder / "enabled"
        if constraints and read_text(enabled) == "0":
            raise MachineError(f"the power limits of {zone.name} are switched off; write 1 to {enabled}")
    return files


def clock_limits(root: Path) -> list[LimitFile]:
    """The files with the highest clocks of CPUs."""
    policies = list(numbered_folders(root / CPU_FOLDER / "cpufreq", "policy").values())
    folders = policies or [cpu / "cpufreq" for cpu in numbered_folders(root / CPU_FOLDER, "cpu").values()]
    files = []
    for folder in folders:
        ends = (_scaled(folder / f"cpuinfo_{end}_freq", 1000) for end in ("min", "max"))
        if before := read_text(folder / "scaling_max_freq"):
            files.append(LimitFile(folder / "scaling_max_freq", before, *ends))
    return files


def _scaled(path: Path, per_unit: int) -> float | None:
    number = read_number(path)
    return None if number is None else number / per_unit


def common_range(files: Sequence[LimitFile]) -> Range:
    """The limits that all files accept."""
    lowest = [file.lowest for file in files if file.lowest is not None]
    highest = [file.highest for file in files if file.highest is not None]
    return max(lowest, default=None), min(highest, default=None)
