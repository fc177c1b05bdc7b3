"""The frameworks that carry networks out: everything that is known of one without importing it.

What one does in a child process is a class of `scaling.running.frameworks`, in a module of its name. The child reads
this before it has checked where it is pinned, so nothing but the standard library is imported here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Framework = Literal["tensorflow", "torch", "jax"]
# What networks use unless a study says otherwise; it alone has operations that can be told apart.
TENSORFLOW: Framework = "tensorflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkFacts:
    """What a framework is told by variables before it is imported, on the CPU and on a GPU, and what it has.

    `packages` are those whose versions explain a result, the first the one that its extra installs besides Keras. It
    may have no setting for its threads, or read them as it is loaded.
    """

    packages: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    gpu_variables: Mapping[str, str]
    sets_threads: bool = True
    reads_threads_when_loaded: bool = True


# torch compiles in its own process, so that no other one is left to be counted. On a GPU, memory is taken as it is
# needed, named devices start no driver, and a profiler of graphs is left running.
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
