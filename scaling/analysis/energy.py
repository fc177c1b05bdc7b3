"""Energy of runs from the readings of meters, and figures of merit of points. Pure.

    energy to solution   E = ∫ P dt, of one step; net of the machine's idle power: E − P₀ T
    energy-delay         E T and E T², which weigh time more and more (Horowitz, Indermaur & Gonzalez, 1994)
    per item             E / items

An energy counter is exact at its readings and interpolated between them. Without a counter, sampled power is integrated
by the trapezoidal rule. A GPU's instantaneous power may cover only a quarter of the time (Yang, Adamek & Armour,
"Part-time Power Measurements", arXiv:2312.02741), which makes its integral scatter; its mean over the last second, if
reported, covers all of it. Figures of a point are means over launches with Student's interval, like its step time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, sqrt
from statistics import fmean

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.turns import QUIET, Turn
from scaling.analysis.witness import SLACK_SECONDS
from scaling.machine.power import Domain
from scaling.study.limits import Measured, Seconds

# A counter that has not moved for longer is stuck: anything switched on takes energy.
LONGEST_STILL_SECONDS = 1.0
# Two readings of a counter give power only if they are this far apart: closer ones show rounding.
LEAST_SECONDS_APART = 0.04
# The longest time between two updates of a counter that is being read.
LONGEST_TICK_SECONDS = 0.15
# A GPU's counter and power lag by a tick or two, so shorter runs would include what came before.
LEAST_GPU_SECONDS = 1.0
# Meters of parts of the machine, which add up; the meter of the board covers them all.
PARTS: tuple[Domain, ...] = ("package", "dram", "gpu")

Window = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PowerSeries:
    """The readings of one meter: counted energy or power at moments of one clock; None for a failed reading.

    `mean_watts` is power over the last `averaged_seconds` before each moment, if the meter reports it.
    """

    times: Sequence[float]
    joules: Sequence[float | None]
    watts: Sequence[float | None]
    range_joules: float | None = None
    mean_watts: Sequence[float | None] = ()
    averaged_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MeterEnergy:
    """The energy that a meter read over the counted seconds and steps of a run, or the `problem` with it.

    `sampled_joules` is the integral of sampled power, if the meter also counts energy.
    """

    meter: str
    domain: Domain
    joules: Measured | None
    seconds: Seconds
    steps: int
    peak_watts: Measured | None = None
    idle_watts: Measured | None = None
    sampled_joules: Measured | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchEnergy:
    """The energy, time and power of one step of a launch, and the domains that were metered.

    The peak of several meters is the sum of their peaks. `sampled_ratio` is the integral of sampled power over the
    counted energy, for meters that report both.
    """

    joules: float
    net_joules: float | None
    seconds: float
    watts: float
    peak_watts: float | None
    domains: tuple[Domain, ...]
    sampled_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class EnergyFigures:
    """Figures of merit of a point per step or per item, with intervals over launches."""

    joules: Estimate
    net_joules: Estimate | None
    joules_per_item: Estimate
    energy_delay: Estimate
    energy_delay_squared: Estimate
    watts: Estimate
    peak_watts: Estimate | None
    sampled_ratio: Estimate | None
    domains: tuple[Domain, ...]


def unwrap(joules: Sequence[float], range_joules: float | None) -> list[float] | None:
    """A counter without its wraparounds; None if it went back and its range is unknown."""
    total, known = 0.0, [0.0]
    for before, after in pairwise(joules):
        if after < before and not range_joules:
            return None
        total += after - before + (range_joules or 0.0) * (after < before)
        known.append(total)
    return known


def counted_joules(series: PowerSeries, windows: Iterable[Window]) -> float | None:
    """The energy that a counter saw in windows; None if it has too few readings or went back."""
    times, known = _readings(series.times, series.joules)
    values = unwrap(known, series.range_joules) if len(known) > 1 else None
    if values is None:
        return None
    # A counter that is updated now and then is exact only when it changes.
    fresh = [0, *(at for at in range(1, len(values)) if values[at] != values[at - 1])]
    times, values = [times[at] for at in fresh], [values[at] for at in fresh]
    return fsum(_at_end(times, values, window) - _at_start(times, values, window) for window in windows)


def _at_start(times: Sequence[float], values: Sequence[float], window: Window) -> float:
    """The value of a counter when a window began: its value at the end in reversed time."""
    start, end = window
    return -_at_end([-time for time in reversed(times)], [-value for value in reversed(values)], (-end, -start))


def _at_end(times: Sequence[float], values: Sequence[float], window: Window) -> float:
    """The value of a counter when a window ended.

    It is interpolated between two readings. If nobody read the counter for a while after the window, it is extrapolated
    at the rate within the window, since later power differs.
    """
    start, end = window
    first, after = bisect_left(times, start), bisect_right(times, end)
    followed = after < len(times) and times[after] - times[after - 1] <= LONGEST_TICK_SECONDS
    if followed or after - first < 2 or end - times[after - 1] > LONGEST_TICK_SECONDS:
        return _interpolate(times, values, end)
    slope = (values[after - 1] - values[first]) / (times[after - 1] - times[first])
    return values[after - 1] + slope * (end - times[after - 1])


def integrated_joules(series: PowerSeries, windows: Sequence[Window]) -> float | None:
    """The integral of sampled power over windows; None with fewer than two samples."""
    averaged = _averaged_joules(series, windows)
    times, watts = _readings(series.times, series.watts)
    if averaged is not None or len(times) < 2:
        return averaged
    return fsum(_integral(times, watts, start, end) for start, end in windows)


def _averaged_joules(series: PowerSeries, windows: Iterable[Window]) -> float | None:
    """The same from averaged power; None without it, if it equals instantaneous power, or if a window is too short.

    Means read one averaging time apart, backwards from the end of a window, cover it without a gap.
    """
    times, watts = _readings(series.times, series.mean_watts) if series.mean_watts else ([], [])
    if not times or list(series.mean_watts) == list(series.watts):
        return None
    joules = []
    for start, end in windows:
        stretches = int((end - start) / series.averaged_seconds)
        if stretches < 2:
            return None
        means = [_interpolate(times, watts, end - at * series.averaged_seconds) for at in range(stretches)]
        joules.append(fmean(means) * (end - start))
    return fsum(joules)


def _readings(times: Sequence[float], values: Sequence[float | None]) -> tuple[list[float], list[float]]:
    known = [(time, value) for time, value in zip(times, values, strict=True) if value is not None]
    return [time for time, _ in known], [value for _, value in known]


def _integral(times: Sequence[float], watts: Sequence[float], start: float, end: float) -> float:
    inside = slice(bisect_right(times, start), bisect_left(times, end))
    moments = [start, *times[inside], end]
    powers = [_interpolate(times, watts, start), *watts[inside], _interpolate(times, watts, end)]
    return fsum(
        (after - before) * (one + other) / 2
        for (before, after), (one, other) in zip(pairwise(moments), pairwise(powers), strict=True)
    )


def _interpolate(times: Sequence[float], values: Sequence[float], at: float) -> float:
    """A value between readings; constant before the first and after the last."""
    after = bisect_right(times, at)
    if after == 0 or after == len(times):
        return values[0] if after == 0 else values[-1]
    share = (at - times[after - 1]) / (times[after] - times[after - 1])
    return values[after - 1] + share * (values[after] - values[after - 1])


def power_trace(series: PowerSeries) -> list[tuple[float, float]]:
    """Moments and power: as sampled, or from a counter at the middle between two readings."""
    sampled = list(zip(*_readings(series.times, series.watts), strict=True))
    if sampled:
        return sampled
    times, known = _readings(series.times, series.joules)
    values = unwrap(known, series.range_joules) or []
    trace: list[tuple[float, float]] = []
    last = 0
    for at in range(1, min(len(times), len(values))):
        apart = times[at] - times[last]
        if apart >= LEAST_SECONDS_APART and values[at] != values[last]:
            trace.append(((times[at] + times[last]) / 2, (values[at] - values[last]) / apart))
            last = at
    return trace


def within(trace: Iterable[tuple[float, float]], windows: Sequence[Window]) -> list[tuple[float, float]]:
    """The moments of a trace that fall into windows."""
    return [(time, watts) for time, watts in trace if any(start <= time <= end for start, end in windows)]


def meter_energy(
    meter: str,
    domain: Domain,
    series: PowerSeries,
    windows: Sequence[Window],
    steps: int,
    idle_watts: float | None = None,
    problem: str | None = None,
) -> MeterEnergy:
    """The energy of a run whose counted steps fell into windows, or the problem of the meter."""
    seconds = fsum(end - start for start, end in windows)
    counted, integrated = counted_joules(series, windows), integrated_joules(series, windows)
    joules = integrated if counted is None else counted
    if problem is None and domain == "gpu" and seconds < LEAST_GPU_SECONDS:
        problem = (
            f"the counted steps take {seconds:.2g} s, too short for {meter}; measure enough steps to take 1 s or more"
        )
    elif problem is None and joules is None:
        problem = f"{meter} could not be read often enough"
    elif problem is None and joules is not None and joules <= 0:
        problem = f"the counter of {meter} did not change for {seconds:.1f} s"
    if problem:
        return MeterEnergy(meter, domain, None, seconds, steps, idle_watts=idle_watts, problem=problem)
    peak = max((watts for _, watts in within(power_trace(series), windows)), default=None)
    sampled = None if counted is None else integrated
    return MeterEnergy(meter, domain, joules, seconds, steps, peak, idle_watts, sampled)


def had_packages_alone(turn: Turn, cpus: int) -> bool:
    """Whether no other load is known on the machine during a turn, so that its energy is the run's."""
    known = (turn.foreign_seconds, turn.sibling_seconds, turn.elsewhere_seconds)
    used = fsum(seconds for seconds in known if seconds is not None)
    return turn.seconds <= 0 or max(0.0, used - SLACK_SECONDS * sqrt(cpus)) / turn.seconds <= QUIET


def launch_energy(
    meters: Sequence[MeterEnergy], items_per_step: int | None = None, items_per_second: float | None = None
) -> LaunchEnergy | None:
    """The energy of one step of a run from its meters; None if any of them has no energy.

    The meter of the board counts only without others. The energy of replicas is per items of one step.
    """
    counted = [one for one in meters if one.domain in PARTS] or list(meters)[:1]
    known = [one.joules for one in counted if one.joules is not None]
    if not counted or len(known) < len(counted) or min(one.seconds for one in counted) <= 0:
        return None
    watts = fsum(joules / one.seconds for joules, one in zip(known, counted, strict=True))
    steps = min(one.steps for one in counted)
    if items_per_second and items_per_step:
        seconds = items_per_step / items_per_second
    elif steps:
        seconds = counted[0].seconds / steps
    else:
        return None
    idle = [one.idle_watts for one in counted if one.idle_watts is not None]
    peaks = [one.peak_watts for one in counted if one.peak_watts is not None]
    both = [(one.sampled_joules, one.joules) for one in counted if one.sampled_joules and one.joules]
    return LaunchEnergy(
        joules=watts * seconds,
        net_joules=(watts - fsum(idle)) * seconds if len(idle) == len(counted) else None,
        seconds=seconds,
        watts=watts,
        peak_watts=fsum(peaks) if len(peaks) == len(counted) else None,
        domains=tuple(dict.fromkeys(one.domain for one in counted)),
        sampled_ratio=fsum(sampled for sampled, _ in both) / fsum(known for _, known in both) if both else None,
    )


def energy_figures(launches: Sequence[LaunchEnergy], items: int | None) -> EnergyFigures | None:
    """The figures of merit of a point over its launches; None without any."""
    if not launches:
        return None
    joules = estimates.location([one.joules for one in launches])
    nets, peaks = [one.net_joules for one in launches], [one.peak_watts for one in launches]
    return EnergyFigures(
        joules=joules,
        net_joules=None if None in nets else estimates.over_launches(nets),
        joules_per_item=joules.map(lambda value: value / (items or 1)),
        energy_delay=estimates.location([one.joules * one.seconds for one in launches]),
        energy_delay_squared=estimates.location([one.joules * one.seconds**2 for one in launches]),
        watts=estimates.location([one.watts for one in launches]),
        peak_watts=None if None in peaks else estimates.over_launches(peaks),
        sampled_ratio=estimates.over_launches(one.sampled_ratio for one in launches),
        domains=launches[0].domains,
    )
