"""Energy, power, limits and clocks of NVIDIA GPUs, read through NVML (package `nvidia-ml-py`, extra `energy`).

Values that a device does not report are None.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from scaling.errors import MachineError, to_install

T = TypeVar("T")

# The GPUs that programs see, by number or UUID.
VISIBLE = "CUDA_VISIBLE_DEVICES"

# Device files of GPU drivers: NVIDIA cards, Jetson boards, AMD, and Linux on Windows.
NVIDIA_DEVICE = "dev/nvidiactl"
DEVICES = (NVIDIA_DEVICE, "dev/nvmap", "dev/kfd", "dev/dxg")

# The period of the mean power.
AVERAGED_SECONDS = 1.0


class Gpu:
    """One GPU of NVML."""

    def __init__(self, nvml: Any, handle: Any, label: str) -> None:
        self.label = label
        self._nvml = nvml
        self._handle = handle

    def facts(self) -> dict[str, str]:
        """Its memory and driver; NVMLError if unknown."""
        memory, driver = self._nvml.nvmlDeviceGetMemoryInfo(self._handle).total, self._nvml.nvmlSystemGetDriverVersion()
        text = driver.decode() if isinstance(driver, bytes) else str(driver)
        return {"gpu_memory": f"{memory / 2**30:.1f} GiB", "gpu_driver": text}

    def joules(self) -> float | None:
        """The energy since its driver was loaded; None without a counter."""
        return self._get(lambda handle: self._nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3)

    def powers(self) -> tuple[float | None, float | None]:
        """The present power, and its mean over the last second if it reports both."""
        with suppress(self._nvml.NVMLError, AttributeError):
            names = [self._nvml.NVML_FI_DEV_POWER_INSTANT, self._nvml.NVML_FI_DEV_POWER_AVERAGE]
            fields = self._nvml.nvmlDeviceGetFieldValues(self._handle, names)
            instant, mean = (field.value.uiVal / 1e3 if field.nvmlReturn == 0 else None for field in fields)
            if instant:
                return instant, mean or None
        return self._get(lambda handle: self._nvml.nvmlDeviceGetPowerUsage(handle) / 1e3), None

    def mhz(self) -> float | None:
        """The present clock of its multiprocessors."""
        return self._get(lambda handle: float(self._nvml.nvmlDeviceGetClockInfo(handle, self._nvml.NVML_CLOCK_SM)))

    def processes(self) -> int | None:
        """The number of processes that compute on it."""
        return self._get(lambda handle: len(self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)))

    def power_limit(self) -> float | None:
        """Its power limit in watts."""
        return self._get(lambda handle: self._nvml.nvmlDeviceGetPowerManagementLimit(handle) / 1e3)

    def power_range(self) -> tuple[float, float] | None:
        """The lowest and the highest power limit that can be set."""
        ends = self._get(self._nvml.nvmlDeviceGetPowerManagementLimitConstraints)
        return None if ends is None else (ends[0] / 1e3, ends[1] / 1e3)

    def highest_mhz(self) -> float | None:
        """The highest clock of its multiprocessors."""
        return self._get(lambda handle: float(self._nvml.nvmlDeviceGetMaxClockInfo(handle, self._nvml.NVML_CLOCK_SM)))

    def set_power_limit(self, watts: float) -> None:
        """Limit its power; PermissionError or OSError if refused."""
        self._set(self._nvml.nvmlDeviceSetPowerManagementLimit, round(1e3 * watts))

    def set_highest_mhz(self, mhz: float) -> None:
        """Limit the clock of its multiprocessors; PermissionError or OSError if refused."""
        self._set(self._nvml.nvmlDeviceSetGpuLockedClocks, 0, round(mhz))

    def reset_highest_mhz(self) -> None:
        """Remove the limit of its clock."""
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
    """Whether a GPU driver is loaded, by its device file."""
    return any((root / device).exists() for device in DEVICES)


def find_gpu(environment: Mapping[str, str] = os.environ) -> Gpu:
    """The first GPU that programs see; MachineError without a GPU, driver or nvidia-ml-py."""
    try:
        import pynvml
    except ModuleNotFoundError:
        raise MachineError(
            f"reading the power of the GPU needs nvidia-ml-py, which is not installed; {to_install('energy')}"
        ) from None
    try:
        pynvml.nvmlInit()
        return _first_visible(pynvml, environment.get(VISIBLE, ""))
    except (pynvml.NVMLError, OSError) as error:
        raise MachineError(f"the power of the GPU cannot be read: {error}; install the NVIDIA driver") from error


def _first_visible(nvml: ModuleType, visible: str) -> Gpu:
    first = visible.split(",")[0].strip()
    if first.startswith(("GPU-", "MIG-")):
        return Gpu(nvml, nvml.nvmlDeviceGetHandleByUUID(first), "gpu 0")
    number = int(first) if first.isdecimal() else 0
    return Gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(number), f"gpu {number}")
