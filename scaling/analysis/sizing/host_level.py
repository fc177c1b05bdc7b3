"""Turns on this host over the step time of their point, as a distribution for every number of cores. Pure.

Laws describe the step time; a promise is about a turn of a new launch, which meets the host in any state. The log
ratios of the mean steps of all turns to the step time of their point are summarised count by count: mean, standard
deviation and, in standard deviations, quantiles. Between counts all three are interpolated in the logarithm of cores
(interpolation of quantile functions: Read, Nuclear Instruments and Methods A 425, 1999); beyond the measured counts
they are constant.

A host stays busy for seconds to minutes, so the turns of a launch resemble each other, and few launches say little
about its usual load. The variance is split into parts within and between launches (one-way analysis of variance, random
effects), and the part between launches is Student's prediction of one more launch from L: (1 + 1/L) (L - 1) / (L - 3)
times the estimate.

Nor do ten seconds on a host show its next minute. An observation lasts about as long as turns resemble each other, 30
s; after k further observations a new turn meets an unseen state of the host with a probability of about 1/(1 + k)², and
then takes longer by an exponential share of 15 % on average. Both moments of that mixture are added, which is 36 % at
95 % after ten seconds, 8 % after two minutes, and 3 % after five.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from math import inf

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.series import HostTurns
from scaling.analysis.sizing.launch_errors import MOST_ERRORS, NORMAL, LaunchErrors, launch_errors
from scaling.analysis.step_times import StepTimes
from scaling.analysis.summary import HostSlowdown

LEVELS = (np.arange(MOST_ERRORS) + 0.5) / MOST_ERRORS
# Logarithms that differ by less are equal.
ROUNDING = 1e-9
# The factor of the variance between fewer than five launches.
FEW_LAUNCHES = 3.0
# The time for which turns resemble each other, and their mean delay in an unseen state of the host.
LOOK_SECONDS, UNSEEN_DELAY = 30.0, 0.15
# The fewest launches at a count that show how much they differ.
LEAST_LAUNCHES = 3


@dataclass(frozen=True, slots=True)
class TurnDelay:
    """The logarithm of a turn over the step time: its mean, standard deviation and shape."""

    mean: float = 0.0
    deviation: float = 0.0
    errors: LaunchErrors = NORMAL


@dataclass(frozen=True, slots=True)
class HostLevel:
    """Turns by the number of cores in use, ascending; empty if none are known."""

    cores: tuple[float, ...] = ()
    means: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    quantiles: tuple[tuple[float, ...], ...] = ()
    turns: tuple[float, ...] = ()

    def at(self, cores: float) -> TurnDelay:
        """The delay of a turn on this number of cores."""
        return _delay(self, cores) if self.cores else TurnDelay()


def host_level(host: Sequence[HostTurns]) -> HostLevel:
    """The distribution of all turns, count by count."""
    launches = [[np.log(turns) for turns in one.ratios] for one in host]
    logs = [np.concatenate(one) for one in launches]
    deviations = [_deviation(one) for one in launches]
    # The probability of an unseen state of the host; 0 if no host is known.
    unseen = [
        0.0 if one.watched_seconds is None else (1.0 + one.watched_seconds / LOOK_SECONDS) ** -2.0 for one in host
    ]
    standard = [
        (np.quantile(values, LEVELS) - values.mean()) / deviation if deviation else np.zeros(len(LEVELS))
        for values, deviation in zip(logs, deviations, strict=True)
    ]
    return HostLevel(
        cores=tuple(one.cores for one in host),
        means=tuple(float(values.mean()) + chance * UNSEEN_DELAY for values, chance in zip(logs, unseen, strict=True)),
        deviations=tuple(
            float(np.hypot(deviation, UNSEEN_DELAY * np.sqrt(chance * (2.0 - chance))))
            for deviation, chance in zip(deviations, unseen, strict=True)
        ),
        quantiles=tuple(tuple(values.tolist()) for values in standard),
        turns=tuple(float(values.size) for values in logs),
    )


def statistic_level(host: Sequence[HostTurns], statistic: Callable[[StepTimes], float | None]) -> HostLevel | None:
    """The same for a statistic of all steps of a launch, such as a quantile; None if too few launches have it.

    There is one value per launch, and few launches may all have met a host at its best. So the mean and standard
    deviation of a count are at least those together with the counts beside it, whose common shape it has.
    """
    ratios = [tuple(_statistic_ratios(one.steps, statistic)) for one in host]
    known = [
        replace(one, ratios=values) for one, values in zip(host, ratios, strict=True) if len(values) >= LEAST_LAUNCHES
    ]
    if not known:
        return None
    own, together = host_level(known), host_level(_with_beside(known))
    means = tuple(map(max, own.means, together.means))
    return replace(together, means=means, deviations=tuple(map(max, own.deviations, together.deviations)))


def _with_beside(host: Sequence[HostTurns]) -> list[HostTurns]:
    beside = [host[max(index - 1, 0) : index + 2] for index in range(len(host))]
    return [
        replace(one, ratios=tuple(chain.from_iterable(other.ratios for other in others)))
        for one, others in zip(host, beside, strict=True)
    ]


def _statistic_ratios(
    launches: Sequence[StepTimes], statistic: Callable[[StepTimes], float | None]
) -> Iterator[tuple[float]]:
    for launch in launches:
        value = statistic(launch)
        if value is not None and 0.0 < value / launch.level < inf:
            yield (value / launch.level,)


def slowdown_at(host: Sequence[HostTurns], cores: float) -> HostSlowdown | None:
    """The slowdown of turns on this number of cores, interpolated between measured counts; None without any."""
    measured = next((one.slowdown for one in host if one.cores == cores), None)
    if measured or not host:
        return measured

    def between(name: str) -> float:
        return _between([one.cores for one in host], [getattr(one.slowdown, name) for one in host], cores)

    return HostSlowdown(between("p10"), between("p50"), between("p90"), between("quiet_share"), turns=0)


def _deviation(launches: Sequence[Floats]) -> float:
    """The standard deviation of a turn of one more launch."""
    values, count = np.concatenate(launches), len(launches)
    if np.ptp(values) < ROUNDING:
        return 0.0
    if count < 2:
        return float(values.std())
    means = np.array([turns.mean() for turns in launches])
    within_df = max(values.size - count, 1)
    within = float(sum(((turns - turns.mean()) ** 2).sum() for turns in launches)) / within_df
    between = max(float(means.var(ddof=1)) - within * count / values.size, 0.0)
    student = (count - 1) / (count - 3) if count > 4 else FEW_LAUNCHES
    return float(np.sqrt(within + between * (1.0 + 1.0 / count) * student))


@lru_cache(maxsize=1024)
def _delay(level: HostLevel, cores: float) -> TurnDelay:
    def between(values: Sequence[float]) -> float:
        return _between(level.cores, values, cores)

    standard = np.array([between(values) for values in zip(*level.quantiles, strict=True)])
    return TurnDelay(between(level.means), between(level.deviations), launch_errors(standard, between(level.turns)))


def _between(counts: Sequence[float], values: Sequence[float], cores: float) -> float:
    return float(np.interp(np.log(cores), np.log(counts), values))
