"""TensorFlow's own tracing of a compiled step, from its very first call. In the child only.

The executor learns from every untraced execution how cheap an op is, and its tracer leaves cheap ops out. Therefore
tracing begins before the first call, and untraced steps come later.

A trace is spans of time on threads, from which the step times follow. A step has three parts: at least one op is
running; only the call of the step is active (the framework's overhead); neither (unexplained). The event of an op is
named `node:Type`, and no other event matches this. Kernels that optimisers substitute for ops have types that begin
with an underscore, and count as the op they replace.
"""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from scaling.analysis.traces import OpTime, Purpose, TracedStep, purpose_of

PICOSECONDS = 1e12

OP_EVENT = re.compile(r"([^:]+):([A-Za-z_]\w*)")

# oneDNN's kernels are named after the op they execute.
ONEDNN = re.compile(r"_Mkl(Native)?(?=[A-Z])")

# The op that is nearly all of a fused kernel's work. The time of a fused bias, activation, padding or sum cannot be
# separated and counts as the op's.
FUSED = {
    "FusedConv2D": "Conv2D",
    "Conv2DWithBias": "Conv2D",
    "PadWithConv2D": "Conv2D",
    "PadWithFusedConv2D": "Conv2D",
    "Conv2DBackpropFilterWithBias": "Conv2DBackpropFilter",
    "FusedConv3D": "Conv3D",
    "Conv3DBackpropFilterWithBias": "Conv3DBackpropFilterV2",
    "FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeWithBias": "DepthwiseConv2dNative",
    "FusedMatMul": "MatMul",
    "MatMulWithBias": "MatMul",
    "FusedBatchMatMulV2": "BatchMatMulV2",
    "FusedBatchNormEx": "FusedBatchNormV3",
    "FusedBatchNormGradEx": "FusedBatchNormGradV3",
    "FusedSwish": "Swish",
    "FusedMish": "Mish",
}
MARKER = "step"
HOST = "/host:CPU"

# Reading a file of events takes several times its size in memory; a file of this size is read in seconds.
LARGEST_FILE_BYTES = 64 * 2**20


class Span(NamedTuple):
    """An interval on a thread in picoseconds of one clock; an op has a purpose."""

    start: int
    end: int
    thread: int
    name: str
    purpose: Purpose | None = None


# The type and purpose of an op.
OpKey = tuple[str, Purpose | None]


class Spans(NamedTuple):
    """The steps of a trace as the loop marked them, the framework's calls, and ops by their type."""

    steps: list[Span]
    calls: list[Span]
    ops: list[Span]


def traced_steps(spans: Spans) -> list[TracedStep]:
    """Every marked step, in order; spans outside all steps are ignored."""
    steps = sorted(spans.steps)
    calls, ops = (_by_step(steps, sorted(group)) for group in (spans.calls, spans.ops))
    return [_traced_step(step, calls[number], ops[number]) for number, step in enumerate(steps)]


def _by_step(steps: Sequence[Span], ordered: Sequence[Span]) -> dict[int, list[Span]]:
    """Spans by the index of the step in which they began, cut at its end."""
    by_step: dict[int, list[Span]] = defaultdict(list)
    number = 0
    for span in ordered:
        while number < len(steps) and span.start >= steps[number].end:
            number += 1
        if number < len(steps) and span.start >= steps[number].start:
            by_step[number].append(span._replace(end=min(span.end, steps[number].end)))
    return by_step


def _traced_step(step: Span, calls: Sequence[Span], ops: Sequence[Span]) -> TracedStep:
    times: dict[OpKey, int] = defaultdict(int)
    executions: dict[OpKey, int] = defaultdict(int)
    for key, own in own_times(ops):
        times[key] += own
        executions[key] += 1
    busy = busy_time(ops)
    return TracedStep(
        wall_seconds=_seconds(step.end - step.start),
        ops=tuple(
            OpTime(key[0], _seconds(times[key]), executions[key], key[1])
            for key in sorted(times, key=lambda key: (key[0], key[1] or ""))
        ),
        overhead_seconds=_seconds(busy_time([*calls, *ops]) - busy),
        overlap_seconds=_seconds(sum(times.values()) - busy),
    )


def own_times(ops: Iterable[Span]) -> Iterator[tuple[OpKey, int]]:
    """The key and own time of every op; the time of nested ops counts for these alone."""
    threads: dict[int, list[Span]] = defaultdict(list)
    for op in sorted(ops, key=lambda op: (op.start, -op.end)):
        threads[op.thread].append(op)
    for thread in threads.values():
        own = [op.end - op.start for op in thread]
        around: list[int] = []
        for number, op in enumerate(thread):
            while around and thread[around[-1]].end <= op.start:
                around.pop()
            if around:
                own[around[-1]] -= min(op.end, thread[around[-1]].end) - op.start
            around.append(number)
        yield from (((op.name, op.purpose), time) for op, time in zip(thread, own, strict=True))


def busy_time(spans: Iterable[Span]) -> int:
    """The time during which at least one span was active on any thread."""
    total, reached = 0, 0
    for span in sorted(spans):
        total += max(0, span.end - max(span.start, reached))
        reached = max(reached, span.end)
    return total


def _seconds(picoseconds: int) -> float:
    """Seconds rounded to nanoseconds, which is finer than the clock and keeps lines short."""
    return round(picoseconds / PICOSECONDS, 9)


def op_key(event: str) -> OpKey | None:
    """The type and purpose of the op that an event names; None for other events."""
    match = OP_EVENT.fullmatch(event)
    if match is None:
        return None
    kernel = one_type(match[2])
    return kernel, purpose_of(match[1], kernel)


@cache
def one_type(kernel: str) -> str:
    """The op type a kernel stands for; a name that is not in the table stays as it is."""
    if not kernel.startswith("_"):
        return kernel
    plain = ONEDNN.sub("", kernel)
    return FUSED.get(plain.removeprefix("_"), plain)


def trace(step: Callable[[], None], function: str, steps: int) -> tuple[float, list[TracedStep]]:
    """Seconds of the first call, which builds the step, and the traced steps without the first and the last."""
    with _Session() as session:
        start = time.perf_counter()
        step()
        first = time.perf_counter() - start
    traced: list[TracedStep] = []
    for count in sessions(steps, len(session.recorded)):
        with _Session() as session:
            for number in range(count):
                with tf.profiler.experimental.Trace(MARKER, step_num=number, _r=1):
                    step()
        traced += traced_steps(session.spans(function))
    if len(traced) != steps:
        raise RuntimeError(f"{steps} steps were traced, but the trace shows {len(traced)}")
    return first, traced[1:-1]


def sessions(steps: int, bytes_per_step: int) -> Iterator[int]:
    """The number of steps for each trace file; no step is taken between two files, so the executor learns nothing."""
    most = max(1, LARGEST_FILE_BYTES // max(1, bytes_per_step))
    while steps > 0:
        yield min(most, steps)
        steps -= most


class _Session:
    """One stretch of tracing, whose records move from the disk into memory when it ends."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
        self.recorded = b""

    def __enter__(self) -> "_Session":
        tf.profiler.experimental.start(self._folder.name)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            tf.profiler.experimental.stop()
            self.recorded = b"".join(path.read_bytes() for path in Path(self._folder.name).rglob("*.xplane.pb"))
        finally:
            self._folder.cleanup()

    def spans(self, function: str) -> Spans:
        """The recorded steps, calls and ops."""
        space = xplane_pb2.XSpace.FromString(self.recorded)
        spans = Spans([], [], [])
        for plane in space.planes:
            if plane.name == HOST:
                _sort_events(plane, {MARKER: spans.steps, function: spans.calls}, spans.ops)
        return spans


def _sort_events(plane: xplane_pb2.XPlane, named: dict[str, list[Span]], ops: list[Span]) -> None:
    """Sort the events of a plane into named lists, and ops under their types and purposes."""
    names = {number: metadata.name for number, metadata in plane.event_metadata.items()}
    keys = {number: op_key(name) for number, name in names.items()}
    for thread, line in enumerate(plane.lines):
        begun = line.timestamp_ns * 1000
        for event in line.events:
            key = keys[event.metadata_id]
            name, purpose = key or (names[event.metadata_id], None)
            spans = ops if key else named.get(name)
            if spans is not None:
                start = begun + event.offset_ps
                spans.append(Span(start, start + event.duration_ps, thread, name, purpose))
