"""The search for the best of many settings by successive halving over cohorts, and its outcome. Pure.

Settings of a cohort take turns, so that only their differences count. A search has three stages:

- start: the default, the named settings, and others close to the whole grid (greedy facility location; Cornuejols,
  Fisher and Nemhauser, Management Science 23, 1977), each launched once.
- race: successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
  optimization", AISTATS 2016). The best third of the settings is launched three times, the best ninth nine times, and
  so on, by a ranking made anew after every cohort. Neighbours of the best settings join them. A setting that is clearly
  slower than the best is dropped.
- confirmation: once no other setting is left, or the race has used its launches, the winner is fixed, and it, the
  default and the named settings are launched anew. Its gain comes from these launches alone, free of the luck that
  chose it. If launches are few, no measured setting looks better than the default and some are not measured, the race
  gets all launches and there is no confirmation.

The winner beats the default if the interval of the gain excludes 1. The interval is the same as in `scaling compare`
for results made in turns with each other.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import exp, floor, log

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.arrays import Floats
from scaling.analysis.comparison import log_ratio
from scaling.analysis.estimates import Estimate
from scaling.analysis.permutation import paired_tests
from scaling.analysis.summary import Launch
from scaling.features.tuning.grid import Objective, Values
from scaling.study.planning import Cohort, Point

# The number of settings that take turns in a cohort.
COHORT = 8
# Settings at the start, as a part of the launches, and their least number.
START_SHARE, START_LEAST = 0.2, 6
# One in this number of settings goes on to the next rung, with this number times the launches.
HALVING = 3
# Neighbours of this number of leaders join them, with at least this number of launches, which a winner needs too.
LEADERS, NEIGHBOUR_LAUNCHES = 3, 3
# A setting is dropped if it is slower than the best one by more than this number of standard deviations.
CLEARLY = 2.5
# The confirmation has at least this part of the launches unless it needs fewer.
RESERVE_SHARE = 0.35
# Cohorts of the confirmation: six pairs can show a difference if all agree; with eight, one may disagree.
FEWEST_CONFIRMATIONS, CONFIRMATIONS = 6, 8
# The confirmation ends if the gain is known to this half width, or to this part of its distance from 1.
GAIN_PRECISION, GAIN_PART = 0.02, 0.1
# The noise of launches before it is known, its lower limit, and the multiple of it at which a slow launch counts half.
NOISE, LEAST_NOISE, HALF_AT = 0.03, 0.005, 2.0
REWEIGHTINGS = 8
# The ridge for the common level of settings and cohorts, which is not determined.
COMMON = 1e-6

# The prefixes of cohort names, which show the purpose of their rows.
RACE, CONFIRMATION = "race-", "confirmation-"


@dataclass(frozen=True)
class Space:
    """Settings by index, each with its level on every axis; the levels of an `ordinal` axis have an order.

    The first setting is the default; `named` are others that are measured in any case.
    """

    levels: tuple[tuple[int, ...], ...]
    ordinal: tuple[bool, ...]
    named: tuple[int, ...] = ()

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        return np.array(self.levels, dtype=np.int64).reshape(len(self.levels), -1)

    def neighbours(self, setting: int) -> list[int]:
        """The settings that differ along a single axis: by one level of an ordinal axis, or in a category."""
        apart = self._codes - self._codes[setting]
        nearest: dict[tuple[int, int], tuple[int, int]] = {}
        for other in np.flatnonzero((apart != 0).sum(axis=1) == 1).tolist():
            axis = int(np.flatnonzero(apart[other])[0])
            step = int(apart[other, axis])
            side = axis, int(np.sign(step)) if self.ordinal[axis] else step
            nearest[side] = min(nearest.get(side, (abs(step), other)), (abs(step), other))
        return [other for _, other in nearest.values()]

    def start(self, number: int) -> list[int]:
        """The default, the named settings, and settings that the others are close to."""
        distances = self.distances
        chosen = list(dict.fromkeys((0, *self.named)))
        nearest = distances[chosen].min(axis=0)
        while len(chosen) < min(number, len(self.levels)):
            # The distances to the nearest chosen setting after each possible choice.
            left = np.minimum(distances, nearest).sum(axis=1)
            left[chosen] = np.inf
            chosen.append(int(left.argmin()))
            nearest = np.minimum(nearest, distances[chosen[-1]])
        return chosen

    @cached_property
    def distances(self) -> Floats:
        """Squared distances of settings; the ends of an ordinal axis, and two categories, are 1 apart."""
        apart = np.abs(self._codes[:, None, :] - self._codes[None, :, :])
        reach = np.where(self.ordinal, np.maximum(self._codes.max(axis=0), 1), 1)
        distances: Floats = ((np.where(self.ordinal, apart, apart != 0) / reach) ** 2).sum(axis=2)
        return distances


def space(settings: Sequence[Values], named: Sequence[int] = ()) -> Space:
    """The space of these settings: an axis of positive numbers is ordinal, any other has categories."""
    values = {axis: list(dict.fromkeys(setting[axis] for setting in settings)) for axis in settings[0]}
    ordinal = {axis: all(map(_is_positive, listed)) for axis, listed in values.items() if len(listed) > 1}
    orders = {
        axis: sorted(values[axis], key=float) if has_order else values[axis] for axis, has_order in ordinal.items()
    }
    ranks = {axis: {value: rank for rank, value in enumerate(order)} for axis, order in orders.items()}
    levels = (tuple(ranks[axis][setting[axis]] for axis in orders) for setting in settings)
    return Space(tuple(levels), tuple(ordinal.values()), tuple(named))


def _is_positive(value: float | str) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


@dataclass(frozen=True, slots=True)
class CohortLaunch:
    """A launch, and its cohort, if any."""

    launch: Launch
    cohort: Cohort | None


@dataclass(frozen=True, slots=True)
class CohortLogs:
    """The log times of the settings of a cohort by index, None for a failed launch.

    A cohort that `confirms` was made after the winner had been fixed. A `disturbed` setting shared no quiet round with
    the first setting, the reference of all, and does not count for a gain.
    """

    logs: Mapping[int, float | None]
    confirms: bool = False
    disturbed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class NextCohort:
    """Settings to launch together."""

    settings: tuple[int, ...]
    confirms: bool = False


class Standing(StrEnum):
    """The standing of a setting in the race; the value is a code for scripts."""

    WINNER = "winner"
    IN_RACE = "in-race"
    DROPPED = "dropped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Competitor:
    """A measured setting: its time over the time of the default, from all launches, and its standing."""

    setting: int
    launches: int
    ratio: Estimate | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a search, or its state so far.

    `challenger` is the best setting besides the default, and the `winner` if the default is `beaten`; otherwise the
    default wins. `gain` is the default's time over the challenger's, from the `confirmations`, the cohorts made after
    the choice, without the `disturbed` ones; None before any. `gains` are the same over the named settings.
    """

    winner: int | None
    challenger: int | None
    beaten: bool
    gain: Estimate | None
    gains: Mapping[int, Estimate]
    confirmations: int
    disturbed: int
    competitors: tuple[Competitor, ...]

    @property
    def is_answer(self) -> bool:
        """Whether the winner is confirmed, or nothing else works."""
        if self.gain is None:
            return self.beaten or (self.winner is not None and self.challenger is None)
        return self.gain.is_answer


def cohort_logs(
    launches: Iterable[CohortLaunch], points: Sequence[Point], objective: Objective = Objective.LATENCY
) -> list[CohortLogs]:
    """The complete cohorts of a search, in order; `points` are its settings by index."""
    index = {point: number for number, point in enumerate(points)}
    cohorts: dict[Cohort, list[Launch]] = {}
    for one in launches:
        if one.cohort is not None and one.launch.point in index:
            cohorts.setdefault(one.cohort, []).append(one.launch)
    return [
        _cohort_logs(members, index, objective, cohort.name.startswith(CONFIRMATION))
        for cohort, members in cohorts.items()
        if len(members) == cohort.members
    ]


def _cohort_logs(
    launches: Sequence[Launch], index: Mapping[Point, int], objective: Objective, confirms: bool
) -> CohortLogs:
    """The launches of a cohort by the objective, against the first successful launch, round by round."""
    well = [launch for launch in launches if launch.seconds is not None]
    logs: dict[int, float | None] = {index[launch.point]: None for launch in launches}
    logs |= {index[launch.point]: log_ratio(well[0], launch) + _weight(launch, objective) for launch in well}
    disturbed = frozenset(index[launch.point] for launch in well if not _both_quiet(well[0], launch))
    return CohortLogs(logs, confirms, disturbed)


def _both_quiet(first: Launch, second: Launch) -> bool:
    """Whether nothing spoils two launches, and they share a quiet round."""
    rounds = [{turn.round for turn in launch.turns if turn.quiet} for launch in (first, second)]
    return not (first.spoiled or second.spoiled) and (not first.turns or bool(rounds[0] & rounds[1]))


def _weight(launch: Launch, objective: Objective) -> float:
    """The term of the objective in the logarithm of a step time."""
    if objective is Objective.LATENCY:
        return 0.0
    per_core = log(launch.point.cores) if objective is Objective.THROUGHPUT_PER_CORE else 0.0
    return per_core - log(launch.items or 1)


@dataclass(frozen=True)
class Race:
    """The cohorts of a search so far, and the ranking of its settings."""

    space: Space
    made: Sequence[CohortLogs]

    @cached_property
    def launches(self) -> Counter[int]:
        """The number of launches of every setting."""
        return Counter(setting for one in self.made for setting in one.logs)

    @cached_property
    def failed(self) -> set[int]:
        """Settings with a failed launch; they are not launched again."""
        return {setting for one in self.made for setting, value in one.logs.items() if value is None}

    @cached_property
    def ranked(self) -> list[int]:
        """Settings without a failed launch, the fastest first."""
        return sorted({*self.launches} - self.failed, key=lambda setting: (self._fit[0][setting], setting))

    @cached_property
    def _fit(self) -> tuple[dict[int, float], dict[int, int], Floats]:
        """The log time of every setting, its row in the covariance, and the covariance; levels of cohorts are free.

        Weighted least squares of settings and cohorts, in which the weight of a launch falls with its residual if it is
        slow: disturbances only slow down, and some launches never leave a slow CPU (Student's weights by iteration;
        Lange, Little and Taylor, JASA 84, 1989). The noise is the median residual of repeated settings.
        """
        lines = [
            (setting, cohort, value)
            for cohort, one in enumerate(self.made)
            for setting, value in one.logs.items()
            if value is not None
        ]
        settings, rows, counts = np.unique([line[0] for line in lines], return_inverse=True, return_counts=True)
        logs, repeated = np.array([line[2] for line in lines]), counts[rows] > 1
        design = np.zeros((len(lines), len(settings) + len(self.made)))
        design[np.arange(len(lines)), rows] = 1.0
        design[np.arange(len(lines)), len(settings) + np.array([line[1] for line in lines])] = 1.0
        free = max(len(lines) - len(settings) - len(self.made) + 1, 1)
        weights, noise = np.ones(len(lines)), NOISE
        for _ in range(REWEIGHTINGS):
            inverse = np.linalg.inv(design.T @ (weights[:, None] * design) + COMMON * np.eye(design.shape[1]))
            fitted = inverse @ design.T @ (weights * logs)
            residuals = logs - design @ fitted
            if repeated.sum() > HALVING:
                spread = 1.4826 * float(np.median(np.abs(residuals[repeated])))
                noise = max(LEAST_NOISE, spread * float(np.sqrt(repeated.sum() / free)))
            weights = 1.0 / (1.0 + (np.maximum(residuals, 0.0) / (HALF_AT * noise)) ** 2)
        rows_by_setting = {int(setting): row for row, setting in enumerate(settings)}
        return (
            {one: float(fitted[row]) for one, row in rows_by_setting.items()},
            rows_by_setting,
            np.asarray(noise**2 * inverse, dtype=np.float64),
        )

    def difference(self, setting: int, other: int) -> tuple[float, float]:
        """The log time of a setting over another, and its standard deviation."""
        logs, rows, covariance = self._fit
        one, two = rows[setting], rows[other]
        variance = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
        return logs[setting] - logs[other], float(np.sqrt(max(variance, 0.0)))

    def is_slower(self, setting: int) -> bool:
        """Whether a setting is clearly slower than the best one."""
        slower, deviation = self.difference(setting, self.ranked[0])
        return slower > CLEARLY * deviation

    @property
    def leads_by_default(self) -> bool:
        """Whether the default is the best measured setting, and some settings are not measured."""
        return self.ranked[0] == 0 and len(self.launches) < len(self.space.levels)

    @property
    def challenger(self) -> int | None:
        """The best setting with enough launches besides the default; None without others."""
        others = [one for one in self.ranked if one != 0]
        enough = min(NEIGHBOUR_LAUNCHES, max((self.launches[one] for one in others), default=0))
        return next((one for one in others if self.launches[one] >= enough), None)

    def contenders(self, total: int) -> list[int]:
        """Settings to launch next in a search of `total` launches; empty if only the best is left."""
        start = self.space.start(max(START_LEAST, int(START_SHARE * total)))
        if waiting := [one for one in start if one not in self.launches]:
            return [*({0} - self.failed - {*waiting}), *waiting]
        best = self.ranked[0]
        for scale in (HALVING**power for power in range(4)):
            wanted = self._wanted(scale * len(start))
            short = [one for one, number in wanted.items() if number > self.launches[one]]
            if {*short} - {best}:
                ranks = {setting: rank for rank, setting in enumerate(self.ranked)}
                ordered = sorted(short, key=lambda one: (self.launches[one], ranks.get(one, -1)))
                return list(dict.fromkeys((best, *ordered)))
        return []

    def _wanted(self, number: int) -> dict[int, int]:
        """The launches of every contender: one each, three each in the best third of `number`, and so on."""
        wanted = {
            one: HALVING ** max(0, floor(log(number / (rank + 1), HALVING) + 1e-9))
            for rank, one in enumerate(self.ranked)
        }
        beside = {other for leader in self.ranked[:LEADERS] for other in self.space.neighbours(leader)} - self.failed
        wanted |= {one: max(wanted.get(one, 0), NEIGHBOUR_LAUNCHES) for one in beside}
        # A single launch may have been slow by chance, so it drops nothing.
        return {one: number for one, number in wanted.items() if self.launches[one] < 2 or not self.is_slower(one)}


def next_cohort(space: Space, made: Sequence[CohortLogs], launches_left: int) -> NextCohort | None:
    """The next cohort of a search with this number of launches left; None at its end."""
    race = Race(space, made)
    if launches_left < 2 or (made and not race.ranked):
        return None
    if made and made[-1].confirms:
        return _next_confirmation(race, launches_left)
    total = race.launches.total() + launches_left
    wanted = CONFIRMATIONS * (2 + len({*space.named} - {0} - race.failed))
    reserve = min(wanted, max(int(RESERVE_SHARE * total), 2 * (FEWEST_CONFIRMATIONS + 1)))
    if made and reserve < wanted and race.leads_by_default:
        reserve = 0
    room = min(COHORT, launches_left, launches_left - reserve if made else max(launches_left - reserve, START_LEAST))
    settings = race.contenders(total)[:room] if room >= 2 else []
    return NextCohort(tuple(settings)) if len(settings) > 1 else _next_confirmation(race, launches_left)


def _next_confirmation(race: Race, launches_left: int) -> NextCohort | None:
    """One more cohort of winner, default and named settings until the gain is precise enough."""
    challenger = _confirmed(race) or race.challenger
    if challenger is None:
        return None
    number, gain = len(_confirming(race.made, challenger)), _gains(race.made, challenger).get(0)
    named = [one for one in race.space.named if one != challenger]
    if (FEWEST_CONFIRMATIONS - number) * (2 + len(named)) > launches_left:
        named = []  # the gain needs only the default
    settings = [one for one in dict.fromkeys((0, *named, challenger)) if one not in race.failed]
    is_precise = gain and gain.half_width and gain.half_width <= max(GAIN_PRECISION, GAIN_PART * abs(gain.value - 1))
    if len(settings) < 2 or len(settings) > launches_left or (number >= CONFIRMATIONS and is_precise):
        return None
    return NextCohort(tuple(settings), confirms=True)


def outcome(space: Space, made: Sequence[CohortLogs]) -> Outcome:
    """The outcome of the cohorts so far."""
    race = Race(space, made)
    failures = tuple(Competitor(one, race.launches[one], None, Standing.FAILED) for one in sorted(race.failed))
    if not {*race.launches} - race.failed:
        return Outcome(None, None, False, None, {}, 0, 0, failures)
    challenger = _confirmed(race) or race.challenger
    gains = {} if challenger is None else _gains(made, challenger)
    gain = gains.pop(0, None)
    beaten = challenger is not None and (0 in race.failed or (gain is not None and (gain.low or 0.0) > 1))
    winner = challenger if beaten or 0 not in race.ranked else 0
    confirming = _confirming(made, challenger)
    disturbed = sum(bool({0, challenger} & one.disturbed) for one in confirming)
    competitors = (*_competitors(race, winner), *failures)
    return Outcome(winner, challenger, beaten, gain, gains, len(confirming), disturbed, competitors)


def _confirmed(race: Race) -> int | None:
    """The winner of the latest confirmation, the last setting of its cohorts, unless it failed since."""
    latest = next(([*one.logs][-1] for one in reversed(race.made) if one.confirms), None)
    return None if latest in race.failed else latest


def _confirming(made: Sequence[CohortLogs], challenger: int | None) -> list[CohortLogs]:
    """The cohorts of the confirmation of a winner."""
    return [one for one in made if one.confirms and [*one.logs][-1] == challenger]


def _gains(made: Sequence[CohortLogs], challenger: int) -> dict[int, Estimate]:
    """The times of the other settings of the confirmation over the challenger's time."""
    pairs: dict[int, dict[int, float]] = {}
    for number, one in enumerate(_confirming(made, challenger)):
        ours = one.logs[challenger]
        if ours is not None and challenger not in one.disturbed:
            for setting, value in one.logs.items():
                if setting not in (challenger, *one.disturbed) and value is not None:
                    pairs.setdefault(setting, {})[number] = value - ours
    return {setting: paired_tests([differences])[0].difference().map(exp) for setting, differences in pairs.items()}


def _competitors(race: Race, winner: int | None) -> Iterator[Competitor]:
    """The measured settings, the fastest first."""
    for setting in race.ranked:
        others = Standing.DROPPED if race.is_slower(setting) else Standing.IN_RACE
        standing = Standing.WINNER if setting == winner else others
        yield Competitor(setting, race.launches[setting], _over_default(race, setting), standing)


def _over_default(race: Race, setting: int) -> Estimate | None:
    if setting == 0 or 0 not in race.ranked:
        return Estimate(1.0) if setting == 0 else None
    centre, deviation = race.difference(setting, 0)
    return Estimate(exp(centre), exp(centre - 2 * deviation), exp(centre + 2 * deviation))
