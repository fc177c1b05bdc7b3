"""Facts of the frameworks, known without importing them; their classes are in `scaling.running.frameworks`.

The child imports this before it has verified its affinity, so nothing but the standard library is imported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Framework = Literal["tensorflow", "torch", "jax"]
# The default of networks, and the only framework whose operations can be traced.
TENSORFLOW: Framework = "tensorflow"

# The workloads of the catalogue that use no framework, whose points cannot differ in inter-op threads.
WITHOUT_FRAMEWORK = ("calibrated", "stream")
NO_THREADS_OF_JAX = (
    "jax has one pool of threads, whose size follows its CPUs, so only its points with intra 'auto' or 'cpus' and "
    "inter 'auto' or 1 are kept"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkFacts:
    """Environment variables set before a framework is imported, on the CPU and on a GPU, and how it gets its threads.

    The versions of `packages` are in the rows; the extra installs the first one besides Keras.
    """

    packages: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    gpu_variables: Mapping[str, str]
    sets_threads: bool = True
    reads_threads_when_loaded: bool = True


# torch compiles in its own process, since compiler processes would outlive the step and be counted. On a GPU, memory is
# allocated on demand, NVML checks for devices without starting the driver, and the profiler of graphs is not torn down.
FRAMEWORKS: Mapping[str, FrameworkFacts] = {
    "tensorflow": FrameworkFacts(
        packages=("tensorflow",),
        gpu_variables={"TF_FORCE_GPU_ALLOW_GROWTH": "true"},
        reads_threads_when_loaded=False,
    ),
    "torch": FrameworkFacts(
        packages=("torch",),
        variables={"KERAS_TORCH_DEVICE": "cpu", "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        gpu_variables={"KERAS_TORCH_DEVICE": "cuda:0", "PYTORCH_NVML_BASED_CUDA_CHECK": "1", "TEARDOWN_CUPTI": "0"},
    ),
    "jax": FrameworkFacts(
        packages=("jax", "jaxlib"),
        variables={"JAX_PLATFORMS": "cpu"},
        gpu_variables={"JAX_PLATFORMS": "cuda,cpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
        sets_threads=False,
    ),
}
assert tuple(FRAMEWORKS) == get_args(Framework)
