"""The search for the best of many settings by successive halving over cohorts, and what it ends with. Pure.

Settings of a cohort take turns, so that only their differences count. Three stages:

- start: the default, those with names, and others that lie close to all there are (greedy facility location;
  Cornuejols, Fisher and Nemhauser, Management Science 23, 1977), each launched once.
- race: successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
  optimization", AISTATS 2016). The best third of the settings is launched three times, the best ninth nine times, and
  so on, by a ranking made anew after every cohort. Settings next to the best ones join them. One that is clearly slower
  than the best is dropped.
- confirmation: once no other is left, or the launches that the race may take are used up, the winner is fixed, and it,
  the default and the named ones are launched anew. Its gain comes from these launches alone: whatever luck has chosen
  it is not in them. Where launches are few, nothing measured looks better than the default and settings are left that
  were not measured, there is nothing to confirm, and the race has all of them.

The default is beaten where the interval of the gain, that of `scaling compare` for results made in turns with each
other, excludes none.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import exp, floor, log

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.comparison import log_ratio
from scaling.analysis.estimates import Estimate
from scaling.analysis.permutation import paired_tests
from scaling.analysis.summary import Launch
from scaling.features.tuning.grid import Objective, Values
from scaling.study.planning import Cohort, Point

Floats = NDArray[np.float64]

# How many settings take turns in a cohort.
COHORT = 8
# Settings at the start: that part of the launches, and at least so many.
START_SHARE, START_LEAST = 0.2, 6
# One in so many settings goes on to the next rung, with so many times the launches.
HALVING = 3
# Neighbours of so many of the best settings join them, with so many launches; a winner has had as many.
LEADERS, NEIGHBOUR_LAUNCHES = 3, 3
# A setting is dropped where it is slower than the best one by more than so many standard deviations.
CLEARLY = 2.5
# The confirmation has at least this part of the launches, where it does not need fewer.
RESERVE_SHARE = 0.35
# Cohorts of the confirmation: six pairs can show a difference where all agree; with two more one may disagree.
FEWEST_CONFIRMATIONS, CONFIRMATIONS = 6, 8
# The confirmation ends where the gain is known to that, or to a part of what it is more or less than nothing.
GAIN_PRECISION, GAIN_PART = 0.02, 0.1
# The noise of launches before it is known, the least that it may be, and at how much of it a slow one counts half.
NOISE, LEAST_NOISE, HALF_AT = 0.03, 0.005, 2.0
REWEIGHTINGS = 8
# What all settings and cohorts share is not known, and counts for this much.
COMMON = 1e-6

# What the name of a cohort begins with, so that its rows say what they were made for.
RACE, CONFIRMATION = "race-", "confirmation-"


@dataclass(frozen=True)
class Space:
    """Settings by index, each with the level that it has on every axis; those of an `ordinal` axis have an order.

    The first is the default, what one gets without any setting; `named` are others that are measured in any case.
    """

    levels: tuple[tuple[int, ...], ...]
    ordinal: tuple[bool, ...]
    named: tuple[int, ...] = ()

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        return np.array(self.levels, dtype=np.int64).reshape(len(self.levels), -1)

    def neighbours(self, setting: int) -> list[int]:
        """The settings that differ from one along a single axis: by one level of an ordinal one, in any category."""
        apart = self._codes - self._codes[setting]
        nearest: dict[tuple[int, int], tuple[int, int]] = {}
        for other in np.flatnonzero((apart != 0).sum(axis=1) == 1).tolist():
            axis = int(np.flatnonzero(apart[other])[0])
            step = int(apart[other, axis])
            side = axis, int(np.sign(step)) if self.ordinal[axis] else step
            nearest[side] = min(nearest.get(side, (abs(step), other)), (abs(step), other))
        return [other for _, other in nearest.values()]

    def start(self, number: int) -> list[int]:
        """The default, those with names, and settings that the others are close to."""
        distances = self._distances
        chosen = list(dict.fromkeys((0, *self.named)))
        nearest = distances[chosen].min(axis=0)
        while len(chosen) < min(number, len(self.levels)):
            # What would be left of the distances to the nearest chosen setting with one more.
            left = np.minimum(distances, nearest).sum(axis=1)
            left[chosen] = np.inf
            chosen.append(int(left.argmin()))
            nearest = np.minimum(nearest, distances[chosen[-1]])
        return chosen

    @cached_property
    def _distances(self) -> Floats:
        """Squared distances of settings; an axis is one from end to end, and so are two categories apart."""
        apart = np.abs(self._codes[:, None, :] - self._codes[None, :, :])
        reach = np.where(self.ordinal, np.maximum(self._codes.max(axis=0), 1), 1)
        distances: Floats = ((np.where(self.ordinal, apart, apart != 0) / reach) ** 2).sum(axis=2)
        return distances


def space(settings: Sequence[Values], named: Sequence[int] = ()) -> Space:
    """The space of these settings: an axis of positive numbers is ordinal, any other has categories."""
    axes = [axis for axis in settings[0] if len({setting[axis] for setting in settings}) > 1]
    ordinal = [all(_is_positive(setting[axis]) for setting in settings) for axis in axes]
    values = [list(dict.fromkeys(setting[axis] for setting in settings)) for axis in axes]
    orders = [
        sorted(listed, key=float) if has_order else listed for listed, has_order in zip(values, ordinal, strict=True)
    ]
    levels = (tuple(order.index(one[axis]) for axis, order in zip(axes, orders, strict=True)) for one in settings)
    return Space(tuple(levels), tuple(ordinal), tuple(named))


def _is_positive(value: float | str) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


@dataclass(frozen=True, slots=True)
class CohortLaunch:
    """A launch, and the cohort it took turns in, if any."""

    launch: Launch
    cohort: Cohort | None


@dataclass(frozen=True, slots=True)
class CohortLogs:
    """The log times of the settings of a cohort by index, None for one that failed.

    Those of a cohort that `confirms` were made once the winner had been fixed. The `disturbed` ones had no round that
    was quiet for them and for the first setting, against which all are held: they say nothing of a gain.
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
    """How a setting stands in the race; the value is the code that scripts match."""

    WINNER = "winner"
    IN_RACE = "in-race"
    DROPPED = "dropped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Competitor:
    """A setting that was measured: its time over that of the default, from all launches, and how it stands."""

    setting: int
    launches: int
    ratio: Estimate | None
    standing: Standing


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search has ended with, or has come to by now.

    `winner` is the setting to use: the `challenger`, which is the best of all others, where the default is `beaten`,
    and else the default. `gain` is the time of the default over that of the challenger from the `confirmations`,
    cohorts made after it was chosen, without those that were `disturbed`; None before there are any. `gains` are those
    over the named settings.
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
        """Whether the winner was confirmed, or nothing else works."""
        if self.gain is None:
            return self.beaten or (self.winner is not None and self.challenger is None)
        return self.gain.is_answer


def cohort_logs(
    launches: Iterable[CohortLaunch], points: Sequence[Point], objective: Objective = Objective.LATENCY
) -> list[CohortLogs]:
    """The cohorts of a search that are complete, in their order; `points` are its settings by index."""
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
    """What launches of a cohort took by the objective, against the first that went well, round by round."""
    well = [launch for launch in launches if launch.seconds is not None]
    logs: dict[int, float | None] = {index[launch.point]: None for launch in launches}
    logs |= {index[launch.point]: log_ratio(well[0], launch) + _weight(launch, objective) for launch in well}
    disturbed = frozenset(index[launch.point] for launch in well if not _both_quiet(well[0], launch))
    return CohortLogs(logs, confirms, disturbed)


def _both_quiet(first: Launch, second: Launch) -> bool:
    """Whether nothing spoils two launches, and some round was quiet for both."""
    rounds = [{turn.round for turn in launch.turns if turn.quiet} for launch in (first, second)]
    return not (first.spoiled or second.spoiled) and (not first.turns or bool(rounds[0] & rounds[1]))


def _weight(launch: Launch, objective: Objective) -> float:
    """What the objective adds to the logarithm of a step time."""
    if objective is Objective.LATENCY:
        return 0.0
    per_core = log(launch.point.cores) if objective is Objective.THROUGHPUT_PER_CORE else 0.0
    return per_core - log(launch.items or 1)


@dataclass(frozen=True)
class Race:
    """The cohorts of a search so far, and what they show of its settings."""

    space: Space
    made: Sequence[CohortLogs]

    @cached_property
    def launches(self) -> Counter[int]:
        """How often every setting was launched."""
        return Counter(setting for one in self.made for setting in one.logs)

    @cached_property
    def failed(self) -> set[int]:
        """Settings with a launch that failed; they are launched no more."""
        return {setting for one in self.made for setting, value in one.logs.items() if value is None}

    @cached_property
    def ranked(self) -> list[int]:
        """Settings whose launches all went well, the fastest first."""
        return sorted({*self.launches} - self.failed, key=lambda setting: (self._fit[0][setting], setting))

    @cached_property
    def _fit(self) -> tuple[dict[int, float], dict[int, int], Floats]:
        """The log time of every setting, its row in their covariance, and that; levels of cohorts are free.

        Weighted least squares of settings and cohorts, in which a launch counts less the slower it is than both
        explain: others only slow down, and some launches never leave a slow CPU (Student's weights by iteration; Lange,
        Little and Taylor, JASA 84, 1989). The noise is known by the median of the residuals of repeated settings.
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
        """How much longer a setting takes than another, as a logarithm, and the standard deviation of that."""
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
        """Whether nothing measured looks better than the default, and something was not measured."""
        return self.ranked[0] == 0 and len(self.launches) < len(self.space.levels)

    @property
    def challenger(self) -> int | None:
        """The best setting but the default, of those with enough launches; None where there is no other."""
        others = [one for one in self.ranked if one != 0]
        enough = min(NEIGHBOUR_LAUNCHES, max((self.launches[one] for one in others), default=0))
        return next((one for one in others if self.launches[one] >= enough), None)

    def contenders(self, total: int) -> list[int]:
        """Settings to launch next in a search of so many launches; none where only the best one is left."""
        start = self.space.start(max(START_LEAST, int(START_SHARE * total)))
        if waiting := [one for one in start if one not in self.launches]:
            return [*({0} - self.failed - {*waiting}), *waiting]
        best = self.ranked[0]
        for scale in (HALVING**power for power in range(4)):
            wanted = self._wanted(scale * len(start))
            short = [one for one, number in wanted.items() if number > self.launches[one]]
            if {*short} - {best}:
                ordered = sorted(short, key=lambda one: (self.launches[one], self._rank.get(one, -1)))
                return list(dict.fromkeys((best, *ordered)))
        return []

    def _wanted(self, number: int) -> dict[int, int]:
        """The launches of every contender: one of all, of the best third of so many three, and so on."""
        wanted = {
            one: HALVING ** max(0, floor(log(number / (rank + 1), HALVING) + 1e-9)) for one, rank in self._rank.items()
        }
        beside = {other for leader in self.ranked[:LEADERS] for other in self.space.neighbours(leader)} - self.failed
        wanted |= {one: max(wanted.get(one, 0), NEIGHBOUR_LAUNCHES) for one in beside}
        # A single launch may have been a slow one: it drops nothing.
        return {one: number for one, number in wanted.items() if self.launches[one] < 2 or not self.is_slower(one)}

    @cached_property
    def _rank(self) -> dict[int, int]:
        return {setting: rank for rank, setting in enumerate(self.ranked)}


def next_cohort(space: Space, made: Sequence[CohortLogs], launches_left: int) -> NextCohort | None:
    """The next cohort of a search that may make so many more launches; None where it has ended."""
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
    """One more cohort of winner, default and named settings, as long as the gain is not known well enough."""
    challenger = _confirmed(race.made) or race.challenger
    if challenger is None:
        return None
    number, gain = len(_confirming(race.made, challenger)), _gains(race.made, challenger).get(0)
    named = [one for one in race.space.named if one != challenger]
    if (FEWEST_CONFIRMATIONS - number) * (2 + len(named)) > launches_left:
        named = []  # the default is what the gain is over
    settings = [one for one in dict.fromkeys((0, *named, challenger)) if one not in race.failed]
    if len(settings) < 2 or len(settings) > launches_left or (number >= CONFIRMATIONS and _is_precise(gain)):
        return None
    return NextCohort(tuple(settings), confirms=True)


def _is_precise(gain: Estimate | None) -> bool:
    if gain is None or gain.half_width is None:
        return False
    return gain.half_width <= max(GAIN_PRECISION, GAIN_PART * abs(gain.value - 1))


def outcome(space: Space, made: Sequence[CohortLogs]) -> Outcome:
    """What the cohorts so far show."""
    race = Race(space, made)
    failures = tuple(Competitor(one, race.launches[one], None, Standing.FAILED) for one in sorted(race.failed))
    if not {*race.launches} - race.failed:
        return Outcome(None, None, False, None, {}, 0, 0, failures)
    challenger = _confirmed(made) or race.challenger
    gains = {} if challenger is None else _gains(made, challenger)
    gain = gains.pop(0, None)
    beaten = challenger is not None and (0 in race.failed or (gain is not None and (gain.low or 0.0) > 1))
    winner = challenger if beaten or 0 not in race.ranked else 0
    confirming = _confirming(made, challenger)
    disturbed = sum(bool({0, challenger} & one.disturbed) for one in confirming)
    competitors = (*_competitors(race, winner), *failures)
    return Outcome(winner, challenger, beaten, gain, gains, len(confirming), disturbed, competitors)


def _confirmed(made: Sequence[CohortLogs]) -> int | None:
    """The winner as it was fixed before the latest confirmation: the last of its cohorts."""
    return next(([*one.logs][-1] for one in reversed(made) if one.confirms), None)


def _confirming(made: Sequence[CohortLogs], challenger: int | None) -> list[CohortLogs]:
    """The cohorts of the confirmation of a winner."""
    return [one for one in made if one.confirms and [*one.logs][-1] == challenger]


def _gains(made: Sequence[CohortLogs], challenger: int) -> dict[int, Estimate]:
    """The times of the other settings of the confirmation over that of the challenger."""
    pairs: dict[int, dict[int, float]] = {}
    for number, one in enumerate(_confirming(made, challenger)):
        ours = one.logs[challenger]
        if ours is not None and challenger not in one.disturbed:
            for setting, value in one.logs.items():
                if setting not in (challenger, *one.disturbed) and value is not None:
                    pairs.setdefault(setting, {})[number] = value - ours
    return {setting: paired_tests([differences])[0].difference().map(exp) for setting, differences in pairs.items()}


def _competitors(race: Race, winner: int | None) -> Iterator[Competitor]:
    """The settings measured, the fastest first."""
    for setting in race.ranked:
        others = Standing.DROPPED if race.is_slower(setting) else Standing.IN_RACE
        standing = Standing.WINNER if setting == winner else others
        yield Competitor(setting, race.launches[setting], _over_default(race, setting), standing)


def _over_default(race: Race, setting: int) -> Estimate | None:
    if setting == 0 or 0 not in race.ranked:
        return Estimate(1.0) if setting == 0 else None
    centre, deviation = race.difference(setting, 0)
    return Estimate(exp(centre), exp(centre - 2 * deviation), exp(centre + 2 * deviation))
