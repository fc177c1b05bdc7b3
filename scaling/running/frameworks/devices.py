"""The GPU of a run: its facts from the framework and the driver (NVML), and its profile."""

import gzip
import json
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scaling.analysis.device_profile import DeviceProfile, device_profile
from scaling.running.frameworks.base import FrameworkError

GPU = "gpu"

# The number of steps that are profiled after the measured ones.
PROFILED_STEPS = 5


def no_gpu(framework: str) -> FrameworkError:
    """The error of a run whose framework finds no GPU."""
    return FrameworkError(
        f"device = 'gpu' needs a GPU, and {framework} finds none; install a build of {framework} for this machine's "
        "GPU, or set device = 'cpu'"
    )


def gpu_facts(name: str) -> dict[str, str]:
    """The GPU's name in its framework, and its memory and driver if nvidia-ml-py is installed."""
    facts = {"gpu": name}
    try:
        import pynvml as nvml

        nvml.nvmlInit()
    except Exception:  # the package or the driver's library may be missing
        return facts
    # The device that this process sees first: by its index, or by its UUID as schedulers name it.
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    find = nvml.nvmlDeviceGetHandleByIndex if first.isdecimal() else nvml.nvmlDeviceGetHandleByUUID
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(find(int(first) if first.isdecimal() else first)).total
        driver = nvml.nvmlSystemGetDriverVersion()
        text = driver.decode() if isinstance(driver, bytes) else str(driver)
        return facts | {"gpu_memory": f"{memory / 2**30:.1f} GiB", "gpu_driver": text}
    except nvml.NVMLError:
        return facts
    finally:
        nvml.nvmlShutdown()


def profile_steps(
    step: Callable[[], object], profiler: Callable[[str], AbstractContextManager[Any]]
) -> DeviceProfile | None:
    """The profile of a few steps, from the Chrome trace that the profiler leaves in a folder.

    None if it fails, as it does without permission to use the device's counters, or without CUPTI.
    """
    try:
        with TemporaryDirectory() as folder:
            with profiler(folder):
                start = time.perf_counter()
                for _ in range(PROFILED_STEPS):
                    step()
                seconds = time.perf_counter() - start
            events = [event for path in Path(folder).rglob("*trace.json*") for event in _events(path)]
        return device_profile(events, PROFILED_STEPS, seconds)
    except Exception as error:  # the measured steps are valid without it
        print(f"the steps on the GPU could not be profiled: {error!r}")
        return None


def _events(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as trace:
        return list(json.load(trace)["traceEvents"])
