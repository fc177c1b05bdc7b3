"""Profiles of traces whose truth is known, in the forms of torch's and of JAX's profiler."""

import gzip
import json
from contextlib import contextmanager

import pytest

from scaling.analysis.device_profile import device_profile
from scaling.running.frameworks import base


def event(name, start, duration, thread=1, process=1, **more):
    return {"ph": "X", "name": name, "ts": start, "dur": duration, "tid": thread, "pid": process, **more}


def name(what, text, process, thread=None):
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": text}}


# Two steps: kernels for 300 + 150 µs, of which 50 on two streams at once, a copy of 40, and calls of 20, 10 and 500 µs,
# the first with a call of the driver within it.
TORCH = [
    event("gemm", 0, 300, cat="kernel"),
    event("relu", 250, 150, thread=2, cat="kernel"),
    event("Memcpy HtoD", 420, 40, cat="gpu_memcpy"),
    event("cudaLaunchKernel", 0, 20, thread=7, cat="cuda_runtime"),
    event("cuLaunchKernel", 5, 10, thread=7, cat="cuda_driver"),
    event("cudaMemcpyAsync", 30, 10, thread=7, cat="cuda_runtime"),
    event("cudaDeviceSynchronize", 40, 500, thread=7, cat="cuda_runtime"),
    event("aten::mm", 0, 30, thread=7, cat="cpu_op"),
]
JAX = [
    name("process_name", "/device:GPU:0 NVIDIA", process=3),
    name("thread_name", "Stream #13(Compute)", process=3, thread=1),
    name("thread_name", "Stream #14(MemcpyH2D)", process=3, thread=2),
    name("thread_name", "XLA Ops", process=3, thread=9),
    name("process_name", "/host:CPU", process=701),
    event("gemm_fusion", 0, 300, process=3),
    event("loop_fusion", 300, 100, process=3),
    event("gemm_fusion", 0, 400, thread=9, process=3, args={"correlation_id": "5"}),  # the same, by operation
    event("MemcpyH2D", 420, 40, thread=2, process=3),
    event("cuLaunchKernelEx", 0, 20, thread=7, process=701),
    event("cuMemcpyHtoDAsync_v2", 30, 10, thread=7, process=701),
    event("cuStreamSynchronize", 40, 500, thread=7, process=701),
    event("$profiler.py:91 trace", 0, 1000, thread=7, process=701),
    {},
]


@pytest.mark.parametrize("trace", [TORCH, JAX])
def test_kernels_copies_and_calls_are_told_apart_and_overlaps_count_once(trace):
    profile = device_profile(trace, steps=2, seconds=1000e-6)
    assert profile.kernel_seconds == pytest.approx(200e-6)
    assert profile.copy_seconds == pytest.approx(20e-6)
    assert profile.copy_share == pytest.approx(40 / 440)
    assert profile.idle_share(500e-6) == pytest.approx(1 - 440 / 1000)
    assert profile.api_seconds == pytest.approx(265e-6)
    assert profile.waiting_seconds == pytest.approx(250e-6)
    assert (profile.kernels, profile.copies) == (1, 0.5)
    assert profile.calls[0].name.endswith("Synchronize")
    assert (profile.calls[0].calls, profile.calls[0].seconds) == (0.5, pytest.approx(250e-6))


def test_calls_of_jax_are_known_by_what_they_correlate_with():
    calls = [
        event("loop_fusion_3", 0, 20, thread=7, process=701, args={"correlation_id": "1"}),
        event("gemm_fusion", 20, 20, thread=7, process=701, args={"correlation_id": "2"}),
        event("MemcpyD2D", 40, 10, thread=7, process=701, args={"correlation_id": "3"}),
        event("cuGraphLaunch (CudaGraph:12)", 60, 30, thread=7, process=701, args={"correlation_id": "4"}),
        event("cuGraphLaunch (CudaGraph:7)", 90, 30, thread=7, process=701, args={"correlation_id": "6"}),
        event("PjitFunction(train)", 0, 200, thread=7, process=701, args={"run_id": "4"}),
    ]
    profile = device_profile([*JAX[:9], *calls], steps=1, seconds=1000e-6)
    assert profile.api_seconds == pytest.approx(110e-6)
    assert [(one.name, one.calls) for one in profile.calls] == [
        *(("cuGraphLaunch", 2), ("cuLaunchKernel", 2), ("MemcpyD2D", 1)),
    ]


def test_a_trace_without_kernels_is_no_profile():
    assert device_profile([event("aten::mm", 0, 30, cat="cpu_op")], 1, 1.0) is None


def test_steps_are_profiled_by_the_trace_that_a_profiler_leaves_and_a_profiler_that_fails_leaves_none(capsys):
    steps = []

    @contextmanager
    def profiler(folder):
        yield
        with gzip.open(f"{folder}/host.trace.json.gz", "wt") as file:
            json.dump({"traceEvents": JAX}, file)

    @contextmanager
    def fails(folder):
        raise PermissionError("CUPTI")
        yield

    profile = base.profile_steps(lambda: steps.append(1), profiler)
    assert len(steps) == profile.steps == base.PROFILED_STEPS
    assert base.profile_steps(lambda: None, fails) is None
    assert "profiled: PermissionError('CUPTI')" in capsys.readouterr().out
