"""A trace as spans of time on threads, and the step times that follow. Pure; independent of any framework.

A step has three parts: at least one op is running; only the call of the step is active (the framework's overhead);
neither (unexplained). The event of an op is named `node:Type`, and no other event matches this. Kernels that optimisers
substitute for ops have types that begin with an underscore, and count as the op they replace.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from scaling.analysis.op_classes import Purpose, purpose_of
from scaling.analysis.traces import OpTime, TracedStep

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
