"""Caps of power and clocks: set for a run, read back, and restored in any case.

RAPL limits (powercap) cap a package's power, cpufreq its clock, and NVML a GPU's power and clock. The sweep restores
the state before it or, if it is killed, its reaper does. One sweep at a time holds the caps of a machine.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scaling.errors import BusyError, MachineError, StudyError
from scaling.machine.gpus import VISIBLE, Gpu, find_gpu
from scaling.machine.power import LimitFile, common_range, limit_files
from scaling.machine.sysfs import HERE
from scaling.running.lock import MachineLock
from scaling.study.spec import Caps

LOCK = "tmp/cpu-scaling-caps.lock"

# The tolerance for values read back: registers hold eighths of watts, GPUs whole watts, and clocks have steps of up to
# a tenth of a gigahertz.
WATTS_APART = 1.0
MHZ_APART = 100.0

# The time that a device may take to follow.
READ_BACK_SECONDS = 1.0

# The time after a change of caps in which steps do not count and no program begins: RAPL averages over about a second.
SETTLE_SECONDS = 1.0


class PowerCaps:
    """The caps of a machine, held by one sweep; StudyError if a required cap cannot be set."""

    def __init__(self, wanted: Iterable[Caps], root: Path = HERE, gpu: Callable[[], Gpu] = find_gpu) -> None:
        caps = list(wanted)
        try:
            self._lock = MachineLock(False, lambda sentence: None, root / LOCK)
        except BusyError as error:
            raise BusyError(f"another sweep is using the caps of this machine: {error}") from error
        self._now = Caps()
        self._gpu: Gpu | None = None
        self._gpu_limit: float | None = None
        self._files: dict[str, list[LimitFile]] = {}
        try:
            for name in Caps._fields:
                values = [value for value in (getattr(wanted_caps, name) for wanted_caps in caps) if value is not None]
                if values:
                    self._prepare(name, values, root, gpu)
        except BaseException:
            self._lock.release()
            raise

    @property
    def lock_fd(self) -> int:
        """The descriptor of the lock; the reaper shares it, so other sweeps wait until it has restored the caps."""
        return self._lock.fd

    @property
    def record(self) -> dict[str, Any]:
        """The state before the sweep, for its restoration."""
        files = [file for group in self._files.values() for file in group]
        visible = os.environ.get(VISIBLE, "")
        gpu = {"visible": visible, "watts": self._gpu_limit, "clock": "gpu_max_mhz" in self._files}
        return {"files": [[str(file.path), file.before] for file in files], "gpu": gpu if self._gpu else None}

    def apply(self, caps: Caps) -> bool:
        """Set exactly these caps; returns whether any cap changed. StudyError if a cap does not hold."""
        changed = [name for name in Caps._fields if getattr(caps, name) != getattr(self._now, name)]
        for name in changed:
            value = getattr(caps, name)
            try:
                self._set(name, value)
            except OSError as error:
                raise StudyError(f"{name} = {_words(value)} was refused: {error.strerror or error}") from error
            self._now = self._now._replace(**{name: value})
            self._read_back(name, value)
        return bool(changed)

    def close(self) -> list[str]:
        """Restore the earlier state and release the lock; returns a sentence for each value not restored."""
        problems = restore(self.record)
        self._lock.release()
        return problems

    def _prepare(self, name: str, values: Sequence[float], root: Path, gpu: Callable[[], Gpu]) -> None:
        """Find the control of a cap, and check it by setting the present value again."""
        try:
            if name.startswith("gpu"):
                self._gpu = self._gpu or gpu()
                lowest, highest = self._prepare_gpu(name, self._gpu)
            else:
                self._files[name] = list(limit_files(name, root))
                lowest, highest = common_range(self._files[name])
                for file in self._files[name]:
                    file.path.write_text(file.before)
        except MachineError as error:
            raise StudyError(f"{name} cannot be set here: {error}") from error
        except PermissionError as error:
            raise StudyError(f"only root may set {name} here; run as root, or leave {name} out") from error
        except OSError as error:
            raise StudyError(f"{name} cannot be set here: {error.strerror or error}; leave {name} out") from error
        outside = [value for value in values if not (lowest or 0.0) <= value <= (highest or value)]
        if outside:
            ends = f"from {lowest or 0.0:g}" + (f" to {highest:g}" if highest else "")
            raise StudyError(
                f"{name} = {outside[0]:g} was requested, but this machine accepts {ends}; choose a value in this range"
            )

    def _prepare_gpu(self, name: str, gpu: Gpu) -> tuple[float | None, float | None]:
        if name == "gpu_power_watts":
            limit = gpu.power_limit()
            if limit is None:
                raise MachineError(f"{gpu.label} has no power limit")
            self._gpu_limit = limit
            gpu.set_power_limit(limit)
            return gpu.power_range() or (None, None)
        self._files[name] = []
        gpu.reset_highest_mhz()
        return None, gpu.highest_mhz()

    def _set(self, name: str, value: float | None) -> None:
        if name == "gpu_power_watts":
            assert self._gpu is not None
            assert self._gpu_limit is not None
            self._gpu.set_power_limit(self._gpu_limit if value is None else value)
        elif name == "gpu_max_mhz":
            assert self._gpu is not None
            self._gpu.reset_highest_mhz() if value is None else self._gpu.set_highest_mhz(value)
        else:
            for file in self._files[name]:
                file.path.write_text(file.before if value is None else str(round(value * file.per_unit)))

    def _read_back(self, name: str, value: float | None) -> None:
        """Raise StudyError if a cap does not hold; for a GPU's clock, NVML reports only the clock, which follows."""
        if value is None:
            return
        deadline = time.monotonic() + READ_BACK_SECONDS
        while wrong := [read for read in self._values(name) if not _holds(name, value, read)]:
            if time.monotonic() > deadline:
                raise StudyError(
                    f"{name} = {value:g} was set, but {_words(wrong[0])} was read back; leave {name} out, or choose a "
                    "value that the machine keeps"
                )
            time.sleep(READ_BACK_SECONDS / 20)

    def _values(self, name: str) -> list[float | None]:
        if name.startswith("gpu"):
            assert self._gpu is not None
            return [self._gpu.power_limit() if name == "gpu_power_watts" else self._gpu.mhz()]
        return [file.value for file in self._files[name]]


def _holds(name: str, value: float, read: float | None) -> bool:
    """Whether the value read back is the cap or, for a GPU's clock, below it."""
    apart = WATTS_APART if name.endswith("watts") else MHZ_APART
    return read is not None and (read - value if name == "gpu_max_mhz" else abs(read - value)) <= apart


def restore(record: Mapping[str, Any]) -> list[str]:
    """Restore the recorded state; returns a sentence for each value that could not be restored."""
    problems = []
    for path, before in record["files"]:
        try:
            Path(path).write_text(before)
        except OSError as error:
            problems.append(f"{path} could not be set back to {before}: {error.strerror}; set it by hand")
    gpu = record["gpu"]
    if gpu is not None:
        try:
            device = find_gpu({VISIBLE: gpu["visible"]})
            if gpu["watts"] is not None:
                device.set_power_limit(gpu["watts"])
            if gpu["clock"]:
                device.reset_highest_mhz()
        except (OSError, MachineError) as error:
            problems.append(f"the GPU's limit of {_words(gpu['watts'])} W was not restored: {error}; set it by hand")
    return problems


def _words(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
