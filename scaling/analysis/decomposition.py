"""Why efficiency is lost: to cores that idle, or to computation that takes more CPU time. Pure.

The multiplicative model of Rosas, Giménez and Labarta, "Scalability prediction for fundamental performance factors",
Supercomputing Frontiers and Innovations 1(2), 2014, which the POP project uses, from CPU time:

    CPU utilisation        U = CPU time / (CPUs × time), in POP's terms parallel efficiency
    computation scaling    CS = w C(1) / C(n), where C = U × CPUs × step time is the CPU time of a step, and w = n under
                           weak scaling, where n cores have n times the work, else 1
    efficiency             E = U(n) / U(1) × CS

Cores that idle or wait take 1 - U(n) / U(1) of the efficiency, and computation takes U(n) / U(1) × (1 - CS) of it, so
both together are the loss 1 - E; a gain is negative. Where the instructions and cycles of a run were counted,

    computation scaling    CS = instructions(1) / instructions(n) × IPC(n) / IPC(1) × clock(n) / clock(1)

with instructions per step, and cycles per second of CPU time as the clock. A thread that spins computes: what it waits
for is part of computation, not of idle cores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Launch, Summary, launch_ratio

# Beyond this a ratio of two powers is no float any more.
MOST_LOGARITHM = 300.0


@dataclass(frozen=True, slots=True)
class CounterRatios:
    """The factors of computation scaling: below 1 more instructions, fewer of them per cycle, or a lower clock."""

    instructions: Estimate
    ipc: Estimate
    clock: Estimate


@dataclass(frozen=True, slots=True)
class Decomposition:
    """What a point lost of its baseline's efficiency to idle cores and to computation; a gain is negative.

    `counters` is None where instructions and cycles were not counted.
    """

    cpu_utilisation: Estimate
    computation_scaling: Estimate
    idle: Estimate
    computation: Estimate
    counters: CounterRatios | None = None

    @property
    def computation_parts(self) -> tuple[float, float, float] | None:
        """The part of `computation` lost to more instructions, then to fewer per cycle, then to a lower clock."""
        if self.counters is None:
            return None
        before_ipc = (1 - self.idle.value) * self.counters.instructions.value
        before_clock = before_ipc * self.counters.ipc.value
        by_instructions, by_ipc = 1 - self.idle.value - before_ipc, before_ipc - before_clock
        return by_instructions, by_ipc, self.computation.value - by_instructions - by_ipc


def decompose(summary: Summary, baseline: Summary, efficiency: float) -> Decomposition | None:
    """The efficiency of a point taken apart; None where either side is not valid or has no CPU time.

    Intervals are those of ratios between launches, which are paired as the speedup's are. That of idle cores also
    reaches as far as others may have kept a run's threads from their CPUs; CPU time does not contain that.
    """
    many, one, cores = summary.used, baseline.used, summary.point.cores
    busy = launch_ratio(many, one, _cpus_busy)
    if busy is None or not (summary.valid and baseline.valid and 0 < efficiency < inf):
        return None
    utilisation = _cpu_utilisation(summary)
    if summary is baseline:
        return Decomposition(utilisation, Estimate(1.0, 1.0, 1.0), Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0))
    busy = busy.map(lambda ratio: ratio / cores).reach_further(baseline.reach.over(summary.reach))
    kept = busy.value
    # The loss kept - efficiency moves by kept per logarithm of CPU time per second, and by efficiency per that of time.
    moved = launch_ratio(many, one, lambda launch: _weighted(launch, kept, efficiency))
    return Decomposition(
        cpu_utilisation=utilisation,
        computation_scaling=_centred(efficiency / kept, launch_ratio(one, many, _cpu_seconds)),
        idle=busy.map(lambda ratio: 1 - ratio),
        computation=_difference(kept - efficiency, moved),
        counters=_counter_ratios(many, one, efficiency / kept),
    )


def _cpu_utilisation(summary: Summary) -> Estimate:
    cpus = summary.point.cores * summary.point.smt
    return estimates.location([busy / cpus for launch in summary.used if (busy := _cpus_busy(launch))])


def _counter_ratios(many: Sequence[Launch], one: Sequence[Launch], scaling: float) -> CounterRatios | None:
    ipc = launch_ratio(many, one, lambda launch: launch.ipc)
    clock = launch_ratio(many, one, lambda launch: launch.clock_hz)
    instructions = launch_ratio(one, many, _instructions) if ipc and clock else None
    if ipc is None or clock is None or instructions is None:
        return None
    return CounterRatios(_centred(scaling / (ipc.value * clock.value), instructions), ipc, clock)


def _cpus_busy(launch: Launch) -> float | None:
    """CPU time per second; where a step was adjusted for what others took, its CPU time stays the same."""
    if launch.cpus_busy is None or launch.adjusted is None:
        return launch.cpus_busy
    return launch.cpus_busy * exp(launch.adjusted.correction)


def _cpu_seconds(launch: Launch) -> float | None:
    """The CPU time of a step."""
    return _product(_cpus_busy(launch), launch.seconds)


def _instructions(launch: Launch) -> float | None:
    """The instructions of a step."""
    return _product(_product(_cpu_seconds(launch), launch.clock_hz), launch.ipc)


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other


def _weighted(launch: Launch, of_busy: float, of_seconds: float) -> float | None:
    """The product of powers whose logarithm is a weighted sum of those of CPU time per second and of step time."""
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
