"""Controls: settings of the whole machine that a sweep changes for a run, reads back, and restores.

The state before is JSON, so that another process can restore it. RAPL limits (powercap) cap the power of a
package, cpufreq its clock, and NVML the power and the clock of a GPU.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scaling.machine.gpus import VISIBLE, find_gpu
from scaling.machine.kernel_files import read_number, read_text
from scaling.machine.power import LimitFile, Range, clock_limits, common_range, power_limits

# The tolerance for values read back: registers hold eighths of watts, GPUs whole watts, and clocks have steps of up to
# a tenth of a gigahertz.
WATTS_APART = 1.0
MHZ_APART = 100.0

MICROWATTS, KILOHERTZ = 10**6, 1000

# The values before, by part of the machine: a file of the kernel, or a GPU as CUDA_VISIBLE_DEVICES names it.
State = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(ABC):
    """A setting of the machine: a number, or a switch.

    `subject` is what a machine without it lacks, `caps` the quantity that it limits, if any. A value read back may
    differ from the one that was set by the `tolerance`.
    """

    subject: str
    caps: Literal["power", "clock"] | None = None
    tolerance: float = 0.0
    on_gpu: bool = False

    @abstractmethod
    def read(self, root: Path) -> State:
        """The present state; empty if the machine has no such setting."""

    @abstractmethod
    def range(self, root: Path) -> Range:
        """The values that the machine accepts."""

    @abstractmethod
    def may_set(self, root: Path) -> bool:
        """Whether this user may set it."""

    @abstractmethod
    def apply(self, part: str, value: float) -> None:
        """Set a value; PermissionError or OSError if it is refused."""

    @abstractmethod
    def restore(self, part: str, before: Any) -> None:
        """Set the value before; PermissionError or OSError if it is refused."""

    @abstractmethod
    def value(self, part: str) -> float | None:
        """The present value."""

    def holds(self, value: float, read: float | None) -> bool:
        """Whether a value read back is the one that was set."""
        return read is not None and abs(read - value) <= self.tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFiles(Control):
    """A setting that the kernel has in files, one for each part of the machine, in fractions of its unit."""

    find: Callable[[Path], Sequence[LimitFile]]
    per_unit: int = 1

    def read(self, root: Path) -> State:
        """The content of every file."""
        return {str(file.path): file.before for file in self.find(root)}

    def range(self, root: Path) -> Range:
        """The values that all files accept."""
        return common_range(self.find(root))

    def may_set(self, root: Path) -> bool:
        """Whether all files may be written."""
        return all(os.access(file.path, os.W_OK, effective_ids=True) for file in self.find(root))

    def apply(self, part: str, value: float) -> None:
        """Write the value."""
        self.restore(part, str(round(value * self.per_unit)))

    def restore(self, part: str, before: Any) -> None:
        """Write the content before."""
        Path(part).write_text(before)

    def value(self, part: str) -> float | None:
        """The value in a file."""
        number = read_number(Path(part))
        return None if number is None else number / self.per_unit


def switch(path: str) -> KernelFiles:
    """The control of a file of the kernel that holds 0 or 1, such as proc/sys/kernel/numa_balancing."""

    def find(root: Path) -> list[LimitFile]:
        before = read_text(root / path)
        return [] if before is None else [LimitFile(root / path, before, highest=1.0)]

    return KernelFiles(subject=f"file /{path}", find=find)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuControl(Control):
    """A setting of the GPU that programs see, which only root may set."""

    on_gpu: bool = True

    def may_set(self, root: Path) -> bool:
        """Whether this user is root."""
        return os.geteuid() == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPower(GpuControl):
    """The power limit of the GPU."""

    def read(self, root: Path) -> State:
        """The present limit."""
        watts = find_gpu().power_limit()
        return {} if watts is None else {os.environ.get(VISIBLE, ""): watts}

    def range(self, root: Path) -> Range:
        """The limits that the GPU accepts."""
        return find_gpu().power_range() or (None, None)

    def apply(self, part: str, value: float) -> None:
        """Set the limit."""
        find_gpu({VISIBLE: part}).set_power_limit(value)

    def restore(self, part: str, before: Any) -> None:
        """Set the limit before."""
        self.apply(part, before)

    def value(self, part: str) -> float | None:
        """The present limit."""
        return find_gpu({VISIBLE: part}).power_limit()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuClock(GpuControl):
    """The clock limit of the GPU; NVML reports the clock, which follows, but no limit."""

    def read(self, root: Path) -> State:
        """The GPU."""
        find_gpu()
        return {os.environ.get(VISIBLE, ""): None}

    def range(self, root: Path) -> Range:
        """The clocks that the GPU reaches."""
        return None, find_gpu().highest_mhz()

    def apply(self, part: str, value: float) -> None:
        """Limit the clock."""
        find_gpu({VISIBLE: part}).set_highest_mhz(value)

    def restore(self, part: str, before: Any) -> None:
        """Remove the limit."""
        find_gpu({VISIBLE: part}).reset_highest_mhz()

    def value(self, part: str) -> float | None:
        """The present clock."""
        return find_gpu({VISIBLE: part}).mhz()

    def holds(self, value: float, read: float | None) -> bool:
        """Whether the clock is below its limit."""
        return read is not None and read - value <= self.tolerance


# The controls that cap power or clocks, by the names of their axes.
CAPS: Mapping[str, Control] = {
    "cpu_power_watts": KernelFiles(
        subject="RAPL limit of a package, as in most virtual machines",
        caps="power",
        tolerance=WATTS_APART,
        find=power_limits,
        per_unit=MICROWATTS,
    ),
    "cpu_max_mhz": KernelFiles(
        subject="clock that cpufreq can limit, as in most virtual machines",
        caps="clock",
        tolerance=MHZ_APART,
        find=clock_limits,
        per_unit=KILOHERTZ,
    ),
    "gpu_power_watts": GpuPower(subject="power limit of the GPU", caps="power", tolerance=WATTS_APART),
    "gpu_max_mhz": GpuClock(subject="clock limit of the GPU", caps="clock", tolerance=MHZ_APART),
}
