"""The GPU of a run: what it is, by its framework and its driver (NVML), and how its absence is worded."""

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

# Steps that are profiled after those that are measured.
PROFILED_STEPS = 5


def no_gpu(framework: str) -> FrameworkError:
    """What a run on a GPU ends with where its framework finds none."""
    return FrameworkError(
        f"device = 'gpu' needs a GPU, and {framework} finds none; install a build of {framework} for this machine's "
        "GPU, or set device = 'cpu'"
    )


def gpu_facts(name: str) -> dict[str, str]:
    """The GPU of this process under its framework's name, and its memory and driver where nvidia-ml-py is installed."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # neither the package nor the driver's library need be there
        return {"gpu": name}
    try:
        memory = pynvml.nvmlDeviceGetMemoryInfo(_handle(pynvml)).total
        return {"gpu": name, "gpu_memory": f"{memory / 2**30:.1f} GiB", "gpu_driver": _text(pynvml)}
    except pynvml.NVMLError:
        return {"gpu": name}
    finally:
        pynvml.nvmlShutdown()


def _handle(nvml: Any) -> Any:
    """The device that this process sees first: by its number, or as schedulers name it."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    return nvml.nvmlDeviceGetHandleByIndex(int(first)) if first.isdecimal() else nvml.nvmlDeviceGetHandleByUUID(first)


def _text(nvml: Any) -> str:
    driver = nvml.nvmlSystemGetDriverVersion()
    return driver.decode() if isinstance(driver, bytes) else str(driver)


def profile_steps(
    step: Callable[[], object], profiler: Callable[[str], AbstractContextManager[Any]]
) -> DeviceProfile | None:
    """The profile of some steps, by what leaves a Chrome trace in the folder it is given; None where it fails.

    Without the right to use the counters of the device, or without CUPTI, there is no profile.
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
    except Exception as error:  # what was measured stands by itself
        print(f"the steps on the GPU could not be profiled: {error!r}")
        return None


def _events(path: Path) -> list[dict[str, Any]]:
    """The events of a Chrome trace, which may be compressed."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as trace:
        return list(json.load(trace)["traceEvents"])
