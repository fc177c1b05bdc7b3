"""An invented GPU for whatever imports `pynvml`, in any process: its state is a file that a variable names.

It draws as much as its limit lets it, up to `load_watts`, and counts its energy by the clock.
"""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STATE = "INVENTED_NVML"
NVML_CLOCK_SM = 1
NVML_FI_DEV_POWER_AVERAGE = 185
NVML_FI_DEV_POWER_INSTANT = 186


class NVMLError(Exception):
    pass


class NVMLError_NoPermission(NVMLError):  # noqa: N801, N818
    pass


class NVMLError_NotSupported(NVMLError):  # noqa: N801, N818
    pass


def _file() -> Any:
    if STATE not in os.environ:
        raise NVMLError("no driver")
    return Path(os.environ[STATE])


def _read() -> Any:
    return json.loads(_file().read_text())


def _change(**values: Any) -> Any:
    state = _read()
    if not state["permitted"]:
        raise NVMLError_NoPermission("Insufficient Permissions")
    now = time.monotonic()
    state |= {"counted": _joules(state, now), "since": now, **values}
    draft = _file().with_suffix(".draft")
    draft.write_text(json.dumps(state))
    draft.replace(_file())


def _watts(state: Any) -> Any:
    return min(state["limit"], state["load_watts"])


def _joules(state: Any, now: Any) -> Any:
    return state["counted"] + _watts(state) * (now - state["since"])


def nvmlInit() -> Any:  # noqa: N802
    _file()


def nvmlDeviceGetHandleByIndex(index: Any) -> Any:  # noqa: N802
    if index != 0:
        raise NVMLError("Invalid Argument")
    return index


def nvmlDeviceGetHandleByUUID(identity: Any) -> Any:  # noqa: N802
    return 0


def nvmlDeviceGetName(handle: Any) -> Any:  # noqa: N802
    return "Invented 100"


def nvmlDeviceGetTotalEnergyConsumption(handle: Any) -> Any:  # noqa: N802
    state = _read()
    if not state["counts"]:
        raise NVMLError_NotSupported("Not Supported")
    return int(1000 * _joules(state, time.monotonic()))


def nvmlDeviceGetFieldValues(handle: Any, fields: Any) -> Any:  # noqa: N802
    value = SimpleNamespace(uiVal=int(1000 * _watts(_read())))
    return [SimpleNamespace(nvmlReturn=0, value=value) for _ in fields]


def nvmlDeviceGetPowerUsage(handle: Any) -> Any:  # noqa: N802
    return int(1000 * _watts(_read()))


def nvmlDeviceGetClockInfo(handle: Any, kind: Any) -> Any:  # noqa: N802
    return _read()["mhz"] or 1980


def nvmlDeviceGetMaxClockInfo(handle: Any, kind: Any) -> Any:  # noqa: N802
    return 1980


def nvmlDeviceGetComputeRunningProcesses(handle: Any) -> Any:  # noqa: N802
    return [0] * _read()["processes"]


def nvmlDeviceGetPowerManagementLimit(handle: Any) -> Any:  # noqa: N802
    return int(1000 * _read()["limit"])


def nvmlDeviceGetPowerManagementLimitConstraints(handle: Any) -> Any:  # noqa: N802
    return [200_000, 700_000]


def nvmlDeviceSetPowerManagementLimit(handle: Any, milliwatts: Any) -> Any:  # noqa: N802
    _change(limit=milliwatts / 1000)


def nvmlDeviceSetGpuLockedClocks(handle: Any, low: Any, high: Any) -> Any:  # noqa: N802
    _change(mhz=high)


def nvmlDeviceResetGpuLockedClocks(handle: Any) -> Any:  # noqa: N802
    _change(mhz=None)
