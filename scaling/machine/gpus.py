"""NVIDIA GPUs through NVML, which `nvidia-ml-py` (an extra of this package) brings: energy, power, limits and clocks.

All that is known of NVML is in `Gpu`; what a device does not report is None.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from scaling.errors import MachineError, to_install

T = TypeVar("T")

# Which of the GPUs programs see, as numbers or by their identity.
VISIBLE = "CUDA_VISIBLE_DEVICES"

# Device files that drivers of GPUs make: NVIDIA's for cards and for Jetson boards, AMD's, and that of Linux on Windows.
NVIDIA_DEVICE = "dev/nvidiactl"
DEVICES = (NVIDIA_DEVICE, "dev/nvmap", "dev/kfd", "dev/dxg")

# Mean power is that over the last second.
AVERAGED_SECONDS = 1.0


class Gpu:
    """One GPU of NVML."""

    def __init__(self, nvml: Any, handle: Any, label: str) -> None:
        self.label = label
        self._nvml = nvml
        self._handle = handle

    @property
    def model(self) -> str:
        """What its maker calls it."""
        name = self._get(self._nvml.nvmlDeviceGetName)
        return name.decode() if isinstance(name, bytes) else str(name)

    def joules(self) -> float | None:
        """The energy it has counted since its driver was loaded; None where it counts none."""
        millijoules = self._get(self._nvml.nvmlDeviceGetTotalEnergyConsumption)
        return None if millijoules is None else millijoules / 1e3

    def powers(self) -> tuple[float | None, float | None]:
        """The power it draws at this instant, and its mean over the last second where it tells both apart."""
        with suppress(self._nvml.NVMLError, AttributeError):
            asked = [self._nvml.NVML_FI_DEV_POWER_INSTANT, self._nvml.NVML_FI_DEV_POWER_AVERAGE]
            fields = self._nvml.nvmlDeviceGetFieldValues(self._handle, asked)
            instant, mean = (field.value.uiVal / 1e3 if field.nvmlReturn == 0 else None for field in fields)
            if instant:
                return instant, mean or None
        milliwatts = self._get(self._nvml.nvmlDeviceGetPowerUsage)
        return None if milliwatts is None else milliwatts / 1e3, None

    def mhz(self) -> float | None:
        """The clock of its multiprocessors now."""
        return self._get(lambda handle: float(self._nvml.nvmlDeviceGetClockInfo(handle, self._nvml.NVML_CLOCK_SM)))

    def processes(self) -> int | None:
        """How many processes compute on it."""
        running = self._get(self._nvml.nvmlDeviceGetComputeRunningProcesses)
        return None if running is None else len(running)

    def power_limit(self) -> float | None:
        """The watts it may draw."""
        milliwatts = self._get(self._nvml.nvmlDeviceGetPowerManagementLimit)
        return None if milliwatts is None else milliwatts / 1e3

    def power_range(self) -> tuple[float, float] | None:
        """The lowest and the highest limit of its power."""
        ends = self._get(self._nvml.nvmlDeviceGetPowerManagementLimitConstraints)
        return None if ends is None else (ends[0] / 1e3, ends[1] / 1e3)

    def highest_mhz(self) -> float | None:
        """The highest clock of its multiprocessors."""
        return self._get(lambda handle: float(self._nvml.nvmlDeviceGetMaxClockInfo(handle, self._nvml.NVML_CLOCK_SM)))

    def set_power_limit(self, watts: float) -> None:
        """Limit its power; PermissionError or OSError where that is refused."""
        self._set(self._nvml.nvmlDeviceSetPowerManagementLimit, round(1e3 * watts))

    def set_highest_mhz(self, mhz: float) -> None:
        """Limit the clock of its multiprocessors; PermissionError or OSError where that is refused."""
        self._set(self._nvml.nvmlDeviceSetGpuLockedClocks, 0, round(mhz))

    def reset_highest_mhz(self) -> None:
        """Let its clock rise as high as it can."""
        self._set(self._nvml.nvmlDeviceResetGpuLockedClocks)

    def _get(self, function: Callable[[Any], T]) -> T | None:
        try:
            return function(self._handle)
        except self._nvml.NVMLError:
            return None

    def _set(self, function: Callable[..., object], *values: int) -> None:
        try:
            function(self._handle, *values)
        except self._nvml.NVMLError_NoPermission as error:
            raise PermissionError("not permitted") from error
        except self._nvml.NVMLError as error:
            raise OSError(str(error)) from error


def has_gpu(root: Path = Path("/")) -> bool:
    """Whether there is a driver of a GPU, by its device file."""
    return any((root / device).exists() for device in DEVICES)


def find_gpu(environment: Mapping[str, str] = os.environ) -> Gpu:
    """The GPU that programs use first; MachineError where there is none, or nothing to ask it with."""
    try:
        import pynvml
    except ModuleNotFoundError:
        raise MachineError(
            "the GPU cannot be asked for its power without nvidia-ml-py, which is not installed; "
            f"{to_install('energy')}"
        ) from None
    try:
        pynvml.nvmlInit()
        return _first_visible(pynvml, environment.get(VISIBLE, ""))
    except (pynvml.NVMLError, OSError) as error:
        raise MachineError(f"no GPU can be asked for its power: {error}; install the NVIDIA driver") from error


def _first_visible(nvml: ModuleType, visible: str) -> Gpu:
    first = visible.split(",")[0].strip()
    if first.startswith(("GPU-", "MIG-")):
        return Gpu(nvml, nvml.nvmlDeviceGetHandleByUUID(first), "gpu 0")
    number = int(first) if first.isdecimal() else 0
    return Gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(number), f"gpu {number}")
