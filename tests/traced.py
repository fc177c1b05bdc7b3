"""Traces that need no machine and no clock: every op follows Amdahl's law of its own."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp

from benchmarks.shared.machines import first_run
from scaling.analysis.traces import OpTime, Purpose, Trace, TracedStep
from scaling.study.planning import Point

# Milliseconds an op takes on one thread, the share of them no thread can help with, and executions a step.
CONVOLUTIONAL = {
    "Conv2D": (30.0, 0.01, 5),
    "Conv2DBackpropFilter": (40.0, 0.05, 5),
    "Conv2DBackpropInput": (20.0, 0.02, 4),
    "_FusedMatMul": (4.0, 0.1, 3),
    "ResourceApplyAdam": (5.0, 0.6, 16),
    "SparseSoftmaxCrossEntropyWithLogits": (1.0, 1.0, 1),
}
PURPOSE: dict[str, Purpose] = {
    "Conv2D": "convolution layers",
    "Conv2DBackpropFilter": "convolution layers",
    "Conv2DBackpropInput": "convolution layers",
    "_FusedMatMul": "dense layers",
    "ResourceApplyAdam": "optimizer",
    "SparseSoftmaxCrossEntropyWithLogits": "loss",
}


def point(workload: str = "alexnet", mode: str = "train", threads: int = 1, **fields: object) -> Point:
    made = replace(first_run().point, workload=workload, mode=mode, cores=threads, intra=threads, inter=1)
    return replace(made, **fields)


def step(op_seconds: Mapping[str, float | tuple[float, int]], overhead: float = 0.0, unexplained: float = 0.0):
    """A step of ops with their seconds, or their seconds and executions."""
    pairs = {name: value if isinstance(value, tuple) else (value, 1) for name, value in op_seconds.items()}
    ops = tuple(
        OpTime(name, seconds, executions, PURPOSE.get(name, "other")) for name, (seconds, executions) in pairs.items()
    )
    return TracedStep(sum(op.seconds for op in ops) + overhead + unexplained, ops, overhead)


def trace(*steps: TracedStep, launch: int = 1, threads: int = 1, **fields: object) -> Trace:
    where = point(threads=threads, **fields)
    plain = tuple(one.wall_seconds / 1.05 for one in steps)
    return Trace(where, launch, threads, 1, 32, steps, plain)


def amdahl_traces(
    ops: Mapping[str, tuple[float, float, int]] = CONVOLUTIONAL,
    threads: Sequence[int] = (1, 2, 4),
    launches: int = 3,
    noise: float = 0.0,
    overhead: float = 0.002,
    unexplained: float = 0.0005,
    steps: int = 6,
    **fields: object,
) -> list[Trace]:
    """Launches on each number of threads; overhead does not scale, and noise is of all ops of a launch, and of each."""
    made = []
    for count in threads:
        for launch in range(1, launches + 1):
            chance = random.Random(f"{fields} {count} {launch}")
            together = chance.gauss(0, noise)

            def seconds(name: str, together: float = together, chance: random.Random = chance, count: int = count):
                one, serial, _ = ops[name]
                return one / 1e3 * (serial + (1 - serial) / count) * exp(together + chance.gauss(0, noise))

            slow = exp(together)
            one_step = step({name: (seconds(name), ops[name][2]) for name in ops}, overhead * slow, unexplained * slow)
            made.append(trace(*(one_step,) * steps, launch=launch, threads=count, **fields))
    return made
