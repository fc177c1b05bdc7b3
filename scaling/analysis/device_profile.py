"""What a step has its GPU do, from the events of a profiler (CUPTI): kernels, copies, and calls of the driver. Pure.

Events are those of a Chrome trace, as torch and JAX both write it. torch says what each event is. In JAX's trace the
streams of the device are threads of a process of its own, and calls are events of the host that name what they
correlate with on the device: a launch by its kernel, a copy by its kind, others by themselves. Kernels and copies that
overlap count once: it is the time in which the device is busy that is asked for, as in the first table of the Minsky
study. So do calls within calls, thread by thread.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Calls of the driver or its runtime that are named.
MOST_CALLS = 6

KERNELS = frozenset(("kernel",))
COPIES = frozenset(("gpu_memcpy", "gpu_memset"))
CALLS = frozenset(("cuda_runtime", "cuda_driver"))
DEVICE_PROCESS, STREAM = "/device:GPU", "Stream"
CALL_NAME = re.compile(r"(cu(?:da)?[A-Z]\w*)(?: \(CudaGraph:\d+\))?")
CORRELATION, LAUNCH = "correlation_id", "cuLaunchKernel"
COPY_NAME = re.compile(r"mem(cpy|set)", re.IGNORECASE)
WAITING = re.compile("Synchronize|Query")

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class DriverCall:
    """A call of the driver by its name: how often in a step, and for how long in all."""

    name: str
    calls: float
    seconds: float


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """A step as its device saw it, means over some profiled steps.

    `step_seconds` is by the host's clock, and longer than that of a step that is not profiled. The device is busy with
    kernels and copies; `api_seconds` is what the host spends in calls of the driver, of which it waits for
    `waiting_seconds`. `calls` are the longest of them.
    """

    steps: int
    step_seconds: float
    kernel_seconds: float
    copy_seconds: float
    api_seconds: float
    waiting_seconds: float
    kernels: float
    copies: float
    calls: tuple[DriverCall, ...]

    @property
    def copy_share(self) -> float:
        """The share of the device's busy time that is copies."""
        busy = self.kernel_seconds + self.copy_seconds
        return self.copy_seconds / busy if busy else 0.0

    def idle_share(self, step_seconds: float) -> float:
        """The share of a step in which the device has nothing to do; one that is not profiled takes less time."""
        return max(0.0, 1.0 - (self.kernel_seconds + self.copy_seconds) / step_seconds)


def device_profile(events: Iterable[Mapping[str, Any]], steps: int, seconds: float) -> DeviceProfile | None:
    """The profile of so many steps that took so many seconds; None where the trace shows no kernel."""
    events = [event for event in events if event]
    streams = _device_threads(events)
    devices = frozenset(process for process, _ in streams)
    kernels: list[Interval] = []
    copies: list[Interval] = []
    calls: dict[object, list[Interval]] = defaultdict(list)
    named: dict[str, list[float]] = defaultdict(list)
    for event in events:
        if event.get("ph") != "X" or "dur" not in event:
            continue
        kind, interval = _kind(event, streams, devices), (event["ts"], event["ts"] + event["dur"])
        if kind == "kernel":
            kernels.append(interval)
        elif kind == "copy":
            copies.append(interval)
        elif kind == "call":
            calls[event["pid"], event["tid"]].append(interval)
            named[_call_name(event["name"])].append(event["dur"])
    if not kernels:
        return None
    longest = sorted(named, key=lambda name: -sum(named[name]))
    waiting = sum(sum(durations) for name, durations in named.items() if WAITING.search(name))
    unit = 1e-6 / steps
    return DeviceProfile(
        steps,
        seconds / steps,
        kernel_seconds=_covered(kernels) * unit,
        copy_seconds=_covered(copies) * unit,
        api_seconds=sum(map(_covered, calls.values())) * unit,
        waiting_seconds=waiting * unit,
        kernels=len(kernels) / steps,
        copies=len(copies) / steps,
        calls=tuple(
            DriverCall(name, len(named[name]) / steps, sum(named[name]) * unit) for name in longest[:MOST_CALLS]
        ),
    )


def _device_threads(events: Sequence[Mapping[str, Any]]) -> frozenset[tuple[Any, Any]]:
    """The streams of devices among the threads that a trace names."""
    names = {(event["name"], event["pid"], event.get("tid")): event["args"] for event in events if _is_name(event)}
    devices = {
        process
        for (what, process, _), args in names.items()
        if what == "process_name" and args["name"].startswith(DEVICE_PROCESS)
    }
    return frozenset(
        (process, thread)
        for (what, process, thread), args in names.items()
        if what == "thread_name" and process in devices and args["name"].startswith(STREAM)
    )


def _is_name(event: Mapping[str, Any]) -> bool:
    return event.get("ph") == "M" and event.get("name") in ("process_name", "thread_name")


def _kind(event: Mapping[str, Any], streams: frozenset[tuple[Any, Any]], devices: frozenset[Any]) -> str | None:
    category = event.get("cat")
    if category is not None:
        return next(
            (
                kind
                for kind, those in (("kernel", KERNELS), ("copy", COPIES), ("call", CALLS))
                if category.lower() in those
            ),
            None,
        )
    if (event["pid"], event["tid"]) in streams:
        return "copy" if COPY_NAME.search(event["name"]) else "kernel"
    correlates = event["pid"] not in devices and CORRELATION in event.get("args", ())
    return "call" if correlates or CALL_NAME.fullmatch(event["name"]) else None


def _call_name(name: str) -> str:
    """The call of an event: what it is called without the graph it launches; a kernel's name is that of its launch."""
    if call := CALL_NAME.fullmatch(name):
        return call[1]
    return name if COPY_NAME.search(name) else LAUNCH


def _covered(intervals: Iterable[Interval]) -> float:
    """How much time is covered by intervals, which may overlap."""
    covered, end = 0.0, float("-inf")
    for start, stop in sorted(intervals):
        covered += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return covered
