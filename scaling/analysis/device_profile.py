"""The kernels, copies and driver calls of a step on its GPU, from the events of a profiler (CUPTI). Pure.

Events come from a Chrome trace, as torch and JAX both write it. In torch's trace each event has a category. In JAX's
trace the streams of the device are threads of a process of its own, and calls are host events that name their
correlated device event: launches by their kernel, copies by their kind, other calls by their own name. Overlapping
kernels and copies count once, since the device's busy time is of interest, as in the first table of the Minsky study.
Nested calls of a thread count once too.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scaling.study.limits import Measured

# The longest calls of the driver that a profile names.
MOST_CALLS = 6
# The event types of torch's categories.
CATEGORIES = {"kernel": "kernel"}
CATEGORIES |= dict.fromkeys(("gpu_memcpy", "gpu_memset"), "copy") | dict.fromkeys(
    ("cuda_runtime", "cuda_driver"), "call"
)
DEVICE_PROCESS, STREAM = "/device:GPU", "Stream"
CALL_NAME = re.compile(r"(cu(?:da)?[A-Z]\w*)(?: \(CudaGraph:\d+\))?")
CORRELATION, LAUNCH = "correlation_id", "cuLaunchKernel"
COPY_NAME = re.compile(r"mem(cpy|set)", re.IGNORECASE)
WAITING = re.compile("Synchronize|Query")

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class DriverCall:
    """A driver call: its name, number and total seconds per step."""

    name: str
    calls: Measured
    seconds: Measured


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """A step on its device, as means over the profiled steps.

    `step_seconds` is by the host's clock, and longer than for a step without a profiler. `api_seconds` is the host's
    time in driver calls, including `waiting_seconds`. `calls` are the longest of them.
    """

    steps: int
    step_seconds: Measured
    kernel_seconds: Measured
    copy_seconds: Measured
    api_seconds: Measured
    waiting_seconds: Measured
    kernels: Measured
    copies: Measured
    calls: tuple[DriverCall, ...]

    @property
    def copy_share(self) -> float:
        """The share of copies in the device's busy time."""
        busy = self.kernel_seconds + self.copy_seconds
        return self.copy_seconds / busy if busy else 0.0

    def idle_share(self, step_seconds: float) -> float:
        """The share of a step, which is shorter without a profiler, in which the device is idle."""
        return max(0.0, 1.0 - (self.kernel_seconds + self.copy_seconds) / step_seconds)


def device_profile(events: Iterable[Mapping[str, Any]], steps: int, seconds: float) -> DeviceProfile | None:
    """The profile of some steps that took some seconds together; None if the trace shows no kernel."""
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
    """The device streams among the threads that a trace names."""
    meta = [event for event in events if event.get("ph") == "M"]
    processes = [event for event in meta if event.get("name") == "process_name"]
    devices = {event["pid"] for event in processes if event["args"]["name"].startswith(DEVICE_PROCESS)}
    threads = [event for event in meta if event.get("name") == "thread_name" and event["pid"] in devices]
    return frozenset((event["pid"], event.get("tid")) for event in threads if event["args"]["name"].startswith(STREAM))


def _kind(event: Mapping[str, Any], streams: frozenset[tuple[Any, Any]], devices: frozenset[Any]) -> str | None:
    category = event.get("cat")
    if category is not None:
        return CATEGORIES.get(category.lower())
    if (event["pid"], event["tid"]) in streams:
        return "copy" if COPY_NAME.search(event["name"]) else "kernel"
    correlates = event["pid"] not in devices and CORRELATION in event.get("args", ())
    return "call" if correlates or CALL_NAME.fullmatch(event["name"]) else None


def _call_name(name: str) -> str:
    """The call of an event, without the graph it launches; a kernel's event is named after its launch."""
    if call := CALL_NAME.fullmatch(name):
        return call[1]
    return name if COPY_NAME.search(name) else LAUNCH


def _covered(intervals: Iterable[Interval]) -> float:
    covered, end = 0.0, float("-inf")
    for start, stop in sorted(intervals):
        covered += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return covered
