"""Efficiency losses split into idle cores and computation that takes more CPU time. Pure.

The multiplicative model of Rosas, Giménez and Labarta, "Scalability prediction for fundamental performance factors",
Supercomputing Frontiers and Innovations 1(2), 2014, used by the POP project, from CPU time:

    CPU utilisation        U = CPU time / (CPUs × time), which POP calls parallel efficiency
    computation scaling    CS = w C(1) / C(n), with the CPU time of a step C = U × CPUs × step time, and w = n under
                           weak scaling, since n cores have n times the work, else 1
    efficiency             E = U(n) / U(1) × CS

Cores that idle or wait take 1 - U(n) / U(1) of the efficiency, and computation takes U(n) / U(1) × (1 - CS), which
together make the loss 1 - E; a gain is negative. If instructions and cycles were counted,

    computation scaling    CS = instructions(1) / instructions(n) × IPC(n) / IPC(1) × clock(n) / clock(1)

with instructions per step, and cycles per second of CPU time as the clock. A thread that spins computes, so its waiting
counts as computation, not as idle cores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from operator import attrgetter

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Launch, Summary, launch_ratio

# Logarithms of ratios are clipped to the range of a float.
MOST_LOGARITHM = 300.0


@dataclass(frozen=True, slots=True)
class CounterRatios:
    """The factors of computation scaling: below 1, more instructions, fewer per cycle, or a lower clock."""

    instructions: Estimate
    ipc: Estimate
    clock: Estimate


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The share of its baseline's efficiency that a point lost to idle cores and to computation; gains are negative.

    `counters` is None if instructions and cycles were not counted.
    """

    cpu_utilisation: Estimate
    computation_scaling: Estimate
    idle: Estimate
    computation: Estimate
    counters: CounterRatios | None = None

    @property
    def computation_parts(self) -> tuple[float, float, float] | None:
        """The parts of `computation` lost to more instructions, to fewer per cycle, and to a lower clock."""
        if self.counters is None:
            return None
        before_ipc = (1 - self.idle.value) * self.counters.instructions.value
        before_clock = before_ipc * self.counters.ipc.value
        by_instructions, by_ipc = 1 - self.idle.value - before_ipc, before_ipc - before_clock
        return by_instructions, by_ipc, self.computation.value - by_instructions - by_ipc


def decompose(summary: Summary, baseline: Summary, efficiency: float) -> Decomposition | None:
    """The losses of a point's efficiency; None if either side is not valid or has no CPU time.

    Intervals come from ratios between launches, paired as for the speedup. The interval of idle cores is widened by
    the time that others may have kept threads from their CPUs, which CPU time does not contain.
    """
    many, one, cores = summary.used, baseline.used, summary.point.cores
    busy = launch_ratio(many, one, _cpus_busy)
    if busy is None or not (summary.valid and baseline.valid and 0 < efficiency < inf):
        return None
    cpus = cores * summary.point.smt
    utilisation = estimates.location([used / cpus for launch in many if (used := _cpus_busy(launch))])
    if summary is baseline:
        return Decomposition(utilisation, Estimate(1.0, 1.0, 1.0), Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0))
    busy = busy.map(lambda ratio: ratio / cores).reach_further(baseline.reach.over(summary.reach))
    kept = busy.value
    # The derivative of the loss kept - efficiency is kept by log CPU time per second, and efficiency by log time.
    moved = launch_ratio(many, one, lambda launch: _weighted(launch, kept, efficiency))
    return Decomposition(
        cpu_utilisation=utilisation,
        computation_scaling=_centred(efficiency / kept, launch_ratio(one, many, _cpu_seconds)),
        idle=busy.map(lambda ratio: 1 - ratio),
        computation=_difference(kept - efficiency, moved),
        counters=_counter_ratios(many, one, efficiency / kept),
    )


def _counter_ratios(many: Sequence[Launch], one: Sequence[Launch], scaling: float) -> CounterRatios | None:
    ipc, clock = (launch_ratio(many, one, attrgetter(name)) for name in ("ipc", "clock_hz"))
    instructions = launch_ratio(one, many, lambda launch: _cpu_seconds(launch, launch.clock_hz, launch.ipc))
    if ipc is None or clock is None or instructions is None:
        return None
    return CounterRatios(_centred(scaling / (ipc.value * clock.value), instructions), ipc, clock)


def _cpus_busy(launch: Launch) -> float | None:
    """CPU time per second; a step adjusted for disturbance keeps its CPU time."""
    if launch.cpus_busy is None or launch.adjusted is None:
        return launch.cpus_busy
    return launch.cpus_busy * exp(launch.adjusted.correction)


def _cpu_seconds(launch: Launch, *factors: float | None) -> float | None:
    """The CPU time of a step, times factors."""
    product = _cpus_busy(launch)
    for factor in (launch.seconds, *factors):
        product = None if product is None or factor is None else product * factor
    return product


def _weighted(launch: Launch, of_busy: float, of_seconds: float) -> float | None:
    """The weighted geometric product of CPU time per second and step time."""
    busy = _cpus_busy(launch)
    if busy is None or launch.seconds is None:
        return None
    weighted = of_busy * log(busy) + of_seconds * log(launch.seconds)
    return exp(max(-MOST_LOGARITHM, min(MOST_LOGARITHM, weighted)))


def _centred(value: float, ratio: Estimate | None) -> Estimate:
    """A value with the relative interval of a ratio."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return Estimate(value)
    return Estimate(value, value * ratio.low / ratio.value, value * ratio.high / ratio.value)


def _difference(value: float, ratio: Estimate | None) -> Estimate:
    """A value with the interval of the logarithm of a ratio."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return Estimate(value)
    return Estimate(value, value + log(ratio.low / ratio.value), value + log(ratio.high / ratio.value))
