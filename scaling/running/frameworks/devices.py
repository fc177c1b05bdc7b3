"""The GPU of a run: what it is, by its framework and its driver (NVML), and how its absence is worded."""

import os
from typing import Any

from scaling.running.frameworks.base import FrameworkError

GPU = "gpu"


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
