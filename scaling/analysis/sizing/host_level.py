"""What turns take on this host over the step time of their point, as a distribution for every number of cores. Pure.

Laws describe the step time; a promise is about a turn of a new launch, which may meet whatever the host does. The
logarithms of the mean steps of all turns over the step time of their point are kept count by count: mean, standard
deviation and, in standard deviations, quantiles. Between counts all three are interpolated in the logarithm of cores
(interpolation of quantile functions: Read, Nuclear Instruments and Methods A 425, 1999); beyond the counts measured
those of the last one hold.

A host stays busy for seconds to minutes, so that the turns of a launch resemble each other, and few launches say little
of how busy it usually is. The variance is split into that within launches and that between them (one-way analysis of
variance, random effects), and the latter is that of Student's prediction of one more launch from L: (1 + 1/L) (L - 1) /
(L - 3) times the estimate.

Nor does a host that was watched for ten seconds show what it does in the next minute. A look lasts about as long as
turns resemble each other, 30 s, and with k further looks a new turn meets a state of the host that none of them saw
with a probability of about 1/(1 + k)²: then it takes longer by an exponential share of 15 % in the mean. Both moments
of that mixture are added, which is 36 % at 95 % after ten seconds, 8 % after two minutes, and 3 % after five.
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
# What the variance between launches is multiplied by where there are fewer than five.
FEW_LAUNCHES = 3.0
# How long turns resemble each other, and how much longer they take in a state of the host that was not seen.
LOOK_SECONDS, UNSEEN_DELAY = 30.0, 0.15
# Fewer launches at a count say nothing of how far they differ.
LEAST_LAUNCHES = 3


@dataclass(frozen=True, slots=True)
class TurnDelay:
    """The logarithm of a turn over the step time: its mean, standard deviation and shape."""

    mean: float = 0.0
    deviation: float = 0.0
    errors: LaunchErrors = NORMAL


@dataclass(frozen=True, slots=True)
class HostLevel:
    """Turns by the number of cores in use, ascending; empty where none are known."""

    cores: tuple[float, ...] = ()
    means: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()
    quantiles: tuple[tuple[float, ...], ...] = ()
    turns: tuple[float, ...] = ()

    def at(self, cores: float) -> TurnDelay:
        """The delay of a turn on so many cores."""
        return _delay(self, cores) if self.cores else TurnDelay()


UNKNOWN_HOST = HostLevel()


def host_level(host: Sequence[HostTurns]) -> HostLevel:
    """The distribution of all turns, count by count."""
    launches = [[np.log(turns) for turns in one.ratios] for one in host]
    logs = [np.concatenate(one) for one in launches]
    deviations = [_deviation(one) for one in launches]
    unseen = [_chance_of_unseen(one.watched_seconds) for one in host]
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


def _chance_of_unseen(watched_seconds: float | None) -> float:
    """The probability that a new turn meets a state of the host that was not seen; 0 where no host is known."""
    return 0.0 if watched_seconds is None else (1.0 + watched_seconds / LOOK_SECONDS) ** -2.0


def statistic_level(host: Sequence[HostTurns], statistic: Callable[[StepTimes], float | None]) -> HostLevel | None:
    """The same of a statistic of all steps of a launch, such as a quantile; None where too few launches have it.

    There is one value per launch, and few launches may all have met a host at its best. So a count is no better than
    it is together with the counts beside it.
    """
    ratios = [tuple(_statistic_ratios(one.steps, statistic)) for one in host]
    known = [
        replace(one, ratios=values) for one, values in zip(host, ratios, strict=True) if len(values) >= LEAST_LAUNCHES
    ]
    return _no_better(host_level(known), host_level(_with_beside(known))) if known else None


def _with_beside(host: Sequence[HostTurns]) -> list[HostTurns]:
    """Every count with the launches of the counts beside it."""
    beside = [host[max(index - 1, 0) : index + 2] for index in range(len(host))]
    return [
        replace(one, ratios=tuple(chain.from_iterable(other.ratios for other in others)))
        for one, others in zip(host, beside, strict=True)
    ]


def _no_better(own: HostLevel, together: HostLevel) -> HostLevel:
    """The shape of counts taken together, with the larger of both means and standard deviations."""
    means = tuple(map(max, own.means, together.means))
    return replace(together, means=means, deviations=tuple(map(max, own.deviations, together.deviations)))


def _statistic_ratios(
    launches: Sequence[StepTimes], statistic: Callable[[StepTimes], float | None]
) -> Iterator[tuple[float]]:
    for launch in launches:
        value = statistic(launch)
        if value is not None and 0.0 < value / launch.level < inf:
            yield (value / launch.level,)


def slowdown_at(host: Sequence[HostTurns], cores: float) -> HostSlowdown | None:
    """How much slower turns on so many cores are: as measured, or between the counts that were; None without any."""
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
