"""NumPy's threads for matrix products: as many, after a fork, as a fresh import would have started.

OpenBLAS counts the CPUs of its mask once, as it is loaded, and a server is loaded on a single one. Another library in
its place is left alone: Intel's counts when it first works.
"""

import ctypes
import os
import sys

# What the builds of OpenBLAS that come with NumPy's wheels, with conda and with distributions call it.
NAMES = [f"{prefix}_set_num_threads{suffix}" for prefix in ("scipy_openblas", "openblas") for suffix in ("64_", "")]
MODULES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


def fit_threads() -> None:
    """Have as many threads as the variables say, and no more than the CPUs this process may use."""
    cpus = len(os.sched_getaffinity(0))
    asked = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or cpus
    threads = min(int(asked), cpus)
    if threads > 1:
        for module in filter(None, map(sys.modules.get, MODULES)):
            _set_threads(str(module.__file__), threads)


def _set_threads(library: str, threads: int) -> None:
    loaded = ctypes.CDLL(library)
    for name in NAMES:
        if hasattr(loaded, name):
            getattr(loaded, name)(threads)
            return
