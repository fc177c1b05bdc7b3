"""The limits of power and clocks that the kernel has in files: those of RAPL (powercap), and of cpufreq."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scaling.errors import MachineError
from scaling.machine.files import numbered_folders, read_text
from scaling.machine.power import zones

CPU_FOLDER = "sys/devices/system/cpu"

# Limits of a package that are capped: that of its power over a second or so, and that of its peaks.
CONSTRAINTS = ("long_term", "short_term")

# The lowest and the highest limit; None where there is no such end.
Range = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class LimitFile:
    """A file of the kernel that holds a limit, with what was in it, how much of the unit one is, and its range."""

    path: Path
    before: str
    per_unit: int
    lowest: float | None = None
    highest: float | None = None

    @property
    def value(self) -> float | None:
        """The limit now."""
        return _number(self.path, self.per_unit)


def limit_files(name: str, root: Path) -> list[LimitFile]:
    """The files of a cap; MachineError where there are none."""
    files = _power_limits(root) if name == "cpu_power_watts" else _clock_limits(root)
    if not files:
        what = "RAPL limit of a package" if name == "cpu_power_watts" else "clock that cpufreq can limit"
        raise MachineError(f"there is no {what}, as in most virtual machines; leave {name} out")
    return files


def _power_limits(root: Path) -> list[LimitFile]:
    files = []
    for zone in zones(root):
        constraints = sorted(zone.folder.glob("constraint_*_name")) if zone.domain == "package" else ()
        for path in constraints:
            prefix = path.name.removesuffix("_name")
            limit, highest = zone.folder / f"{prefix}_power_limit_uw", zone.folder / f"{prefix}_max_power_uw"
            if read_text(path) in CONSTRAINTS and (before := read_text(limit)):
                top = _number(highest, 10**6) if read_text(path) == CONSTRAINTS[0] else None
                files.append(LimitFile(limit, before, 10**6, highest=top or None))
        enabled = zone.folder / "enabled"
        if constraints and (state := read_text(enabled)) == "0":
            raise MachineError(f"the power limits of {zone.name} are switched off ({enabled} is {state})")
    return files


def _clock_limits(root: Path) -> list[LimitFile]:
    policies = list(numbered_folders(root / CPU_FOLDER / "cpufreq", "policy").values())
    folders = policies or [cpu / "cpufreq" for cpu in numbered_folders(root / CPU_FOLDER, "cpu").values()]
    return [
        LimitFile(
            folder / "scaling_max_freq",
            before,
            1000,
            _number(folder / "cpuinfo_min_freq", 1000),
            _number(folder / "cpuinfo_max_freq", 1000),
        )
        for folder in folders
        if (before := read_text(folder / "scaling_max_freq"))
    ]


def common_range(files: Sequence[LimitFile]) -> Range:
    """What all files take."""
    lowest = [file.lowest for file in files if file.lowest is not None]
    highest = [file.highest for file in files if file.highest is not None]
    return max(lowest, default=None), min(highest, default=None)


def _number(path: Path, per_unit: int) -> float | None:
    with suppress(ValueError):
        return int(read_text(path) or "") / per_unit
    return None
