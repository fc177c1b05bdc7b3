"""Caps of power and of clocks: set for a run, read back, and restored however the sweep ends.

A package's power is capped by RAPL's limits (powercap), its clock by cpufreq, a GPU's power and clock through NVML.
What was there before is noted when the sweep begins. The sweep restores it at its end, and so does its reaper, which
outlives a sweep that is killed. One sweep at a time holds the caps of a machine, whichever lock it measures under.
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
from scaling.study.planning import Caps

LOCK = "tmp/cpu-scaling-caps.lock"

# Registers hold watts in eighths, and GPUs in whole ones; clocks go in steps of up to a tenth of a gigahertz.
WATTS_APART = 1.0
MHZ_APART = 100.0

# A device may take so long to follow.
READ_BACK_SECONDS = 1.0

# After a cap has changed, steps do not count for so long: RAPL averages over about a second.
SETTLE_SECONDS = 1.0


class PowerCaps:
    """The caps of a machine, held by one sweep; StudyError where one that it needs cannot be set here."""

    def __init__(self, wanted: Iterable[Caps], root: Path = HERE, gpu: Callable[[], Gpu] = find_gpu) -> None:
        caps = list(wanted)
        self._lock = _hold(root)
        self._now = Caps()
        self._gpu: Gpu | None = None
        self._gpu_limit: float | None = None
        self._files: dict[str, list[LimitFile]] = {}
        try:
            for name in Caps._fields:
                values = [value for value in (getattr(one, name) for one in caps) if value is not None]
                if values:
                    self._prepare(name, values, root, gpu)
        except BaseException:
            self._lock.release()
            raise

    @property
    def lock_fd(self) -> int:
        """What the reaper holds too, so that nobody sets caps before it has restored these."""
        return self._lock.fd

    @property
    def record(self) -> dict[str, Any]:
        """What was there before, for whoever restores it."""
        files = [file for group in self._files.values() for file in group]
        visible = os.environ.get(VISIBLE, "")
        gpu = {"visible": visible, "watts": self._gpu_limit, "clock": "gpu_max_mhz" in self._files}
        return {"files": [[str(file.path), file.before] for file in files], "gpu": gpu if self._gpu else None}

    def apply(self, caps: Caps) -> bool:
        """Have these caps and no others; whether any has changed. StudyError where one does not hold."""
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
        """Restore what was there before, and let others set caps; a sentence for whatever could not be restored."""
        problems = restore(self.record)
        self._lock.release()
        return problems

    def _prepare(self, name: str, values: Sequence[float], root: Path, gpu: Callable[[], Gpu]) -> None:
        """Find what a cap is set by, and prove that it can be: what is there is set again."""
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
            raise StudyError(f"{name} may be set by root alone here; run as root, or leave {name} out") from error
        except OSError as error:
            raise StudyError(f"{name} cannot be set here: {error.strerror or error}; leave {name} out") from error
        outside = [value for value in values if not (lowest or 0.0) <= value <= (highest or value)]
        if outside:
            ends = f"from {lowest or 0.0:g}" + (f" to {highest:g}" if highest else "")
            raise StudyError(f"{name} = {outside[0]:g} was asked for, and this machine takes {ends}; give one of these")

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
        """Refuse to go on where a cap does not hold; NVML tells no cap of a clock, only the clock, which follows."""
        if value is None:
            return
        deadline = time.monotonic() + READ_BACK_SECONDS
        while wrong := [read for read in self._values(name) if not _holds(name, value, read)]:
            if time.monotonic() > deadline:
                raise StudyError(
                    f"{name} = {value:g} was set, but {_words(wrong[0])} was read back; leave it out, or give what "
                    "holds"
                )
            time.sleep(READ_BACK_SECONDS / 20)

    def _values(self, name: str) -> list[float | None]:
        if name.startswith("gpu"):
            assert self._gpu is not None
            return [self._gpu.power_limit() if name == "gpu_power_watts" else self._gpu.mhz()]
        return [file.value for file in self._files[name]]


def _holds(name: str, value: float, read: float | None) -> bool:
    """Whether what was read back is the cap or, of a clock that is told itself, below it."""
    apart = WATTS_APART if name.endswith("watts") else MHZ_APART
    return read is not None and (read - value if name == "gpu_max_mhz" else abs(read - value)) <= apart


def restore(record: Mapping[str, Any]) -> list[str]:
    """Set everything as it was before; a sentence for whatever could not be."""
    problems = []
    for path, before in record["files"]:
        try:
            Path(path).write_text(before)
        except OSError as error:
            problems.append(f"{path} could not be set back to {before}: {error.strerror}; set it by hand")
    gpu = record["gpu"]
    if gpu is not None:
        try:
            _restore_gpu(find_gpu({VISIBLE: gpu["visible"]}), gpu)
        except (OSError, MachineError) as error:
            problems.append(f"the GPU's limit of {_words(gpu['watts'])} W was not restored: {error}; set it by hand")
    return problems


def _restore_gpu(gpu: Gpu, record: Mapping[str, Any]) -> None:
    if record["watts"] is not None:
        gpu.set_power_limit(record["watts"])
    if record["clock"]:
        gpu.reset_highest_mhz()


def _hold(root: Path) -> MachineLock:
    try:
        return MachineLock(False, lambda sentence: None, root / LOCK)
    except BusyError as error:
        raise BusyError(f"the caps of this machine are held by another sweep: {error}") from error


def _words(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
