"""The meters of a machine: energy counters of processor packages and of DRAM (RAPL, through powercap), the power of the
whole machine (hwmon: ACPI power meters, which firmware reads through IPMI, and those of POWER), and of a GPU.

Khan et al., "RAPL in Action", ACM TOMPECS 3(2), 2018. Reads below any root folder; only what can be read is a meter,
and for whatever cannot be there is a sentence.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from scaling.machine.files import numbered_folders, read_text
from scaling.machine.gpus import AVERAGED_SECONDS, Gpu
from scaling.machine.sysfs import HERE

Domain = Literal["package", "dram", "gpu", "board"]

POWERCAP = "sys/class/powercap"
MONITORS = "sys/class/hwmon"

# Power sensors of the whole machine, by the name of their driver; POWER's label theirs.
BOARD_DRIVERS = ("power_meter", "ibmpowernv")
BOARD_LABEL = "System"


class MeterReading(NamedTuple):
    """What a meter says at a moment: the energy it has counted, or the power, or both.

    `mean_watts` is power over the last `averaged_seconds` of the meter.
    """

    joules: float | None = None
    watts: float | None = None
    mean_watts: float | None = None


@dataclass(frozen=True, slots=True)
class Meter:
    """Something that says how much energy a part of the machine takes; a counter begins anew at `range_joules`.

    Those of a package and of its DRAM have the `package`, by its number. One that is `quick` is worth more samples than
    ten per second.
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
    """The meters of a machine, and what is there and cannot be read, in sentences."""

    meters: tuple[Meter, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Zone:
    """A power zone of powercap: of a package, or of the DRAM of one."""

    folder: Path
    domain: Domain
    package: int | None
    name: str


def find_meters(root: Path = HERE, gpu: Gpu | None = None) -> Meters:
    """The meters that can be read, of the processor, of the machine, and of a GPU where one is given."""
    meters: list[Meter] = []
    problems: list[str] = []
    for zone in zones(root):
        meter = _rapl_meter(zone)
        if isinstance(meter, Meter):
            meters.append(meter)
        else:
            problems.append(meter)
    meters += _board_meters(root)
    if gpu is not None:
        meters.append(_gpu_meter(gpu))
    return Meters(tuple(meters), tuple(problems))


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
    found = [path for path in folder.iterdir() if _is_zone(path)] if folder.is_dir() else []
    for path in sorted(found, key=lambda path: [int(number) for number in re.findall(r"\d+", path.name)]):
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


def _is_zone(path: Path) -> bool:
    """Whether it is a zone of RAPL; what memory-mapped registers show is the same package again."""
    return re.fullmatch(r"intel-rapl(:\d+)+", path.name) is not None


def _package_of(name: str) -> int | None:
    match = re.fullmatch(r"package-(\d+)(-die-\d+)?", name)
    return int(match[1]) if match else None


def _rapl_meter(zone: Zone) -> Meter | str:
    """The counter of a zone, or why it cannot be read."""
    counter = zone.folder / "energy_uj"
    try:
        first = counter.read_text()
    except PermissionError:
        return (
            f"the energy of {zone.name} may be read by root alone ({counter}); run as root, or have root give: chmod "
            f"a+r {counter}"
        )
    except OSError as error:
        return f"the energy of {zone.name} cannot be read: {counter}: {error.strerror}"
    largest = _number(zone.folder / "max_energy_range_uj")
    if not first.strip().isdecimal():
        return f"the energy of {zone.name} cannot be read: {counter} holds {first.strip()[:20]!r}, and no number"
    return Meter(
        name=zone.name,
        domain=zone.domain,
        read=_reader(counter, lambda joules: MeterReading(joules=joules)),
        package=zone.package,
        range_joules=largest * 1e-6 if largest else None,
    )


def _board_meters(root: Path) -> Iterator[Meter]:
    """The sensors of the power of the whole machine; an average over a while where there is no other."""
    for folder in numbered_folders(root / MONITORS, "hwmon").values():
        if read_text(folder / "name") not in BOARD_DRIVERS:
            continue
        for path in sorted((*folder.glob("power*_input"), *folder.glob("power*_average"))):
            label = read_text(path.with_name(f"{path.name.partition('_')[0]}_label"))
            if label in (None, BOARD_LABEL) and _number(path) is not None:
                reader = _reader(path, lambda watts: MeterReading(watts=watts))
                yield Meter(f"board {path.parent.name}", "board", reader)
                break


def _reader(path: Path, reading: Callable[[float | None], MeterReading]) -> Callable[[], MeterReading]:
    """What reads millionths of a file of the kernel; as plainly as possible, since that is done very often."""
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


def _number(path: Path) -> int | None:
    text = read_text(path)
    return int(text) if text and text.isdecimal() else None


def package_cpus(root: Path = HERE) -> dict[int, frozenset[int]]:
    """The CPUs of every package, by the number that its meters have."""
    members: dict[int, set[int]] = {}
    for cpu, folder in numbered_folders(root / "sys/devices/system/cpu", "cpu").items():
        package = _number(folder / "topology/physical_package_id")
        members.setdefault(0 if package is None else package, set()).add(cpu)
    return {package: frozenset(cpus) for package, cpus in members.items()}
