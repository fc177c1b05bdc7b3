"""The search for the best of many settings by racing them in cohorts, and what it ends with. Pure.

Settings of a cohort take turns, the default among them, so that only their differences count. Three stages:

- start: settings that lie close to all others (greedy facility location; Cornuejols, Fisher and Nemhauser, Management
  Science 23, 1977), and those that have names.
- race: the next cohort has the settings that are best in surfaces drawn from what is known of all of them
  (`scaling.analysis.surrogate`; Thompson sampling, Thompson, Biometrika 25, 1933). A setting that is clearly worse than
  the best one is hardly ever drawn: it is dropped, and launches go to those that may still win.
- confirmation: once the best is known to a margin and all settings next to it were measured, or the launches that the
  race may take are used up, the winner is fixed, and it, the default and the named ones are launched anew. Its gain
  comes from these launches alone: whatever luck has chosen it is not in them. Where they show more noise than the race
  did, so that another setting may well be better, the race goes on as long as a confirmation of its own can follow.
  Where launches are few, nothing measured looks better than the default and settings are left that were not measured,
  there is nothing to confirm, and the race has all of them.

The default is beaten where the interval of the gain, that of `scaling compare` for results made in turns with each
other, excludes none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log

import numpy as np

from scaling.analysis.comparison import log_ratio
from scaling.analysis.estimates import Estimate
from scaling.analysis.permutation import paired_tests
from scaling.analysis.summary import Launch
from scaling.analysis.surrogate import Observations, Posterior, Space, posterior
from scaling.study.planning import Cohort, Point
from scaling.study.tuning import Objective

# How many settings take turns in a cohort, the default among them.
COHORT = 8
# The race ends where the best setting is within this margin of the fastest one, as sure as that.
MARGIN = 0.005
SURE = 0.97
# It goes on after a confirmation where the winner is less sure than this to be as good as any, within two percent.
WITHIN, SURE_AFTERWARDS = 0.02, 0.95
# The part of the launches that start and race may take.
RACE_SHARE = 0.65
# The confirmation has at least this part of them, where it does not need fewer.
RESERVE_SHARE = 0.35
# Settings at the start: so many per axis and in all, at most that part of the launches.
START_PER_AXIS, START_LEAST, START_SHARE = 3, 6, 0.35
# Cohorts of the confirmation: six pairs can show a difference where all agree; with two more one may disagree.
FEWEST_CONFIRMATIONS, CONFIRMATIONS = 6, 8
# The confirmation ends where the gain is known to that, or to a part of what it is more or less than nothing.
GAIN_PRECISION, GAIN_PART = 0.02, 0.1
# Surfaces drawn for the next cohort, and to say how sure the best one is.
DRAWS, DRAWS_SURE = 64, 400
# A setting is dropped where it is slower than the best one by more than so many standard deviations.
CLEARLY = 2.5


# What the name of a cohort begins with, so that its rows say what they were made for.
RACE, CONFIRMATION = "race-", "confirmation-"


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
    """Settings to launch together, the reference first."""

    settings: tuple[int, ...]
    confirms: bool


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


def next_cohort(space: Space, made: Sequence[CohortLogs], launches_left: int) -> NextCohort | None:
    """The next cohort of a search that may make so many more launches; None where it has ended."""
    failed = _failed(made)
    if launches_left < 2 or (made and not _measured(made)):
        return None
    challenger = _confirmed(made)
    confirmed, just_confirmed = challenger is not None, bool(made) and made[-1].confirms
    if just_confirmed and (cohort := _next_confirmation(space, made, launches_left)):
        return cohort
    spent = sum(len(one.logs) for one in made)
    total = spent + launches_left
    reserve = _reserve(space, failed, None if confirmed else total)
    room = min(COHORT, launches_left, max(2 if made else START_LEAST, launches_left - reserve))
    waiting = [] if confirmed else _missing_at_start(space, made, total)
    if waiting and (not made or launches_left - 2 >= reserve):
        return _cohort(space, waiting[: room - 1], failed)
    known = _posterior(space, made)
    if launches_left - 2 < reserve or (not confirmed and spent + 2 > RACE_SHARE * total):
        is_short = not confirmed and reserve < _reserve(space, failed, None)
        if not is_short or not _best_may_be_unmeasured(space, known, made):
            return None if just_confirmed else _next_confirmation(space, made, launches_left)
        room = min(COHORT, launches_left)
    if just_confirmed and _how_sure(space, known, made, challenger) >= SURE_AFTERWARDS:
        return None
    best = _best(known, made)
    others = [one for one in _drawn(known, failed, np.random.default_rng(len(made))) if one != space.default]
    if _surely_best(known, best, failed, MARGIN, len(made)) >= SURE:
        others = _unmeasured_neighbours(space, best, made)
        if not others:
            return _next_confirmation(space, made, launches_left)
    return _cohort(space, others[: room - 1] or [_challenger(space, known, made)], failed)


def outcome(space: Space, made: Sequence[CohortLogs]) -> Outcome:
    """What the cohorts so far show."""
    failed, measured = _failed(made), _measured(made)
    if not measured:
        return Outcome(None, None, False, None, {}, 0, 0, tuple(_failures(made)))
    known = _posterior(space, made) if space.axes and len(measured) > 1 else None
    challenger = _confirmed(made)
    if challenger is None and known is not None and measured != {space.default}:
        challenger = _challenger(space, known, made)
    gains = {} if challenger is None else _gains(made, challenger)
    gain = gains.pop(space.default, None)
    beaten = challenger is not None and (
        space.default in failed or (gain is not None and gain.low is not None and gain.low > 1)
    )
    winner = challenger if beaten or space.default not in measured else space.default
    confirming = _confirming(made, challenger)
    return Outcome(
        winner,
        challenger,
        beaten,
        gain,
        gains,
        len(confirming),
        sum(bool({space.default, challenger} & one.disturbed) for one in confirming),
        (*_competitors(space, known, made, winner), *_failures(made)),
    )


def _next_confirmation(space: Space, made: Sequence[CohortLogs], launches_left: int) -> NextCohort | None:
    """One more cohort of winner, default and named settings, as long as the gain is not known well enough."""
    failed = _failed(made)
    challenger = _confirmed(made)
    if challenger is None or not made[-1].confirms:
        challenger = _challenger(space, _posterior(space, made), made)
    number = len(_confirming(made, challenger))
    gain = _gains(made, challenger).get(space.default)
    precise = gain is not None and _is_precise(gain)
    named = [one for one in space.named if one not in (challenger, *failed)]
    if (FEWEST_CONFIRMATIONS - number) * (2 + len(named)) > launches_left:
        named = []  # the default is what the gain is over
    members = _cohort(space, [*named, challenger], failed, confirms=True)
    if len(members.settings) < 2 or len(members.settings) > launches_left or (number >= CONFIRMATIONS and precise):
        return None
    return members


def _is_precise(gain: Estimate) -> bool:
    enough = max(GAIN_PRECISION, GAIN_PART * abs(gain.value - 1))
    return gain.half_width is not None and gain.half_width <= enough


def _cohort(space: Space, settings: Sequence[int], failed: set[int], confirms: bool = False) -> NextCohort:
    members = dict.fromkeys((space.default, *settings))
    return NextCohort(tuple(one for one in members if one not in failed), confirms)


def _reserve(space: Space, failed: set[int], total: int | None) -> int:
    """The launches kept for a confirmation; for the first of a search with so many in all, as many as it can spare.

    That is a part of them, and those of the fewest cohorts and of one more.
    """
    wanted = CONFIRMATIONS * (2 + len({*space.named} - {space.default} - failed))
    if total is None:
        return wanted
    return min(wanted, max(int(RESERVE_SHARE * total), 2 * (FEWEST_CONFIRMATIONS + 1)))


def _missing_at_start(space: Space, made: Sequence[CohortLogs], total: int) -> list[int]:
    """The settings of the start that no cohort has had."""
    number = max(START_LEAST, min(START_PER_AXIS * space.axes + 2, int(START_SHARE * total)))
    tried = {setting for one in made for setting in one.logs}
    return [one for one in start_settings(space, number) if one not in tried and one != space.default]


def _unmeasured_neighbours(space: Space, setting: int, made: Sequence[CohortLogs]) -> list[int]:
    """The settings next to one along a single axis that no cohort has had: a step may lie where the model has none."""
    tried = {one for cohort in made for one in cohort.logs}
    return [one for one in space.neighbours(setting) if one not in tried]


def start_settings(space: Space, number: int) -> list[int]:
    """Settings that the others are close to, after the default and those with names."""
    coordinates = space.coordinates
    distances = ((coordinates[:, None, :] - coordinates[None, :, :]) ** 2).sum(axis=2)
    chosen = list(dict.fromkeys((space.default, *space.named)))
    nearest = distances[chosen].min(axis=0)
    while len(chosen) < min(number, space.size):
        # What would be left of the distances to the nearest chosen setting with one more.
        left = np.minimum(distances, nearest).sum(axis=1)
        left[chosen] = np.inf
        chosen.append(int(left.argmin()))
        nearest = np.minimum(nearest, distances[chosen[-1]])
    return chosen


def _failed(made: Sequence[CohortLogs]) -> set[int]:
    return {setting for one in made for setting, value in one.logs.items() if value is None}


def _measured(made: Sequence[CohortLogs]) -> set[int]:
    """Settings with launches that went well, and none that failed."""
    return {setting for one in made for setting in one.logs} - _failed(made)


def _posterior(space: Space, made: Sequence[CohortLogs]) -> Posterior:
    lines = [
        (setting, cohort, value)
        for cohort, one in enumerate(made)
        for setting, value in one.logs.items()
        if value is not None
    ]
    settings, cohorts, logs = zip(*lines, strict=True)
    return posterior(space, Observations(np.array(settings), np.array(cohorts), np.array(logs)))


def _best(known: Posterior, made: Sequence[CohortLogs]) -> int:
    return min(sorted(_measured(made)), key=lambda setting: float(known.mean[setting]))


def _challenger(space: Space, known: Posterior, made: Sequence[CohortLogs]) -> int:
    """The best setting but the default of those measured; the default itself where there is no other."""
    others = sorted(_measured(made) - {space.default})
    return min(others, key=lambda setting: float(known.mean[setting]), default=space.default)


def _best_may_be_unmeasured(space: Space, known: Posterior, made: Sequence[CohortLogs]) -> bool:
    """Whether nothing measured looks better than the default, and something was not measured."""
    challenger = _challenger(space, known, made)
    tried = {one for cohort in made for one in cohort.logs}
    return bool(known.mean[challenger] >= known.mean[space.default]) and len(tried) < space.size


def _confirmed(made: Sequence[CohortLogs]) -> int | None:
    """The winner as it was fixed before the latest confirmation: the last of its cohorts."""
    last = next((one for one in reversed(made) if one.confirms), None)
    return None if last is None else [*last.logs][-1]


def _confirming(made: Sequence[CohortLogs], challenger: int | None) -> list[CohortLogs]:
    """The cohorts of the confirmation of a winner."""
    return [one for one in made if one.confirms and [*one.logs][-1] == challenger]


def _drawn(known: Posterior, failed: set[int], chance: np.random.Generator) -> list[int]:
    """The settings that are the best of surfaces drawn, in the order of their appearance."""
    surfaces = known.draws(DRAWS, chance)
    surfaces[:, sorted(failed)] = np.inf
    return list(dict.fromkeys(int(setting) for setting in surfaces.argmin(axis=1)))


def _surely_best(known: Posterior, setting: int, failed: set[int], margin: float, seed: int) -> float:
    """The probability that a setting is within a margin of the fastest."""
    surfaces = known.draws(DRAWS_SURE, np.random.default_rng(seed))
    surfaces[:, sorted(failed)] = np.inf
    return float((surfaces[:, setting] <= surfaces.min(axis=1) + np.log1p(margin)).mean())


def _how_sure(space: Space, known: Posterior, made: Sequence[CohortLogs], challenger: int | None) -> float:
    """The probability that the better one of the challenger and the default is as good as any, within two percent."""
    candidates = [one for one in (challenger, space.default) if one is not None and one in _measured(made)]
    best = min(candidates, key=lambda one: float(known.mean[one]))
    return _surely_best(known, best, _failed(made), WITHIN, len(made))


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


def _competitors(
    space: Space, known: Posterior | None, made: Sequence[CohortLogs], winner: int | None
) -> list[Competitor]:
    """The settings measured, the fastest first."""
    counts: dict[int, int] = {}
    for one in made:
        for setting in one.logs:
            counts[setting] = counts.get(setting, 0) + 1
    measured = sorted(_measured(made))
    if known is None:
        return [Competitor(setting, counts[setting], None, Standing.WINNER) for setting in measured]
    best = _best(known, made)
    competitors = [
        Competitor(
            setting, counts[setting], _over_default(space, known, setting), _standing(known, setting, best, winner)
        )
        for setting in measured
    ]
    return sorted(competitors, key=lambda one: float(known.mean[one.setting]))


def _over_default(space: Space, known: Posterior, setting: int) -> Estimate:
    if setting == space.default:
        return Estimate(1.0)
    centre, deviation = known.difference(setting, space.default)
    return Estimate(exp(centre), exp(centre - 2 * deviation), exp(centre + 2 * deviation))


def _standing(known: Posterior, setting: int, best: int, winner: int | None) -> Standing:
    if setting == winner:
        return Standing.WINNER
    slower, deviation = known.difference(setting, best)
    return Standing.DROPPED if slower > CLEARLY * deviation else Standing.IN_RACE


def _failures(made: Sequence[CohortLogs]) -> list[Competitor]:
    return [
        Competitor(setting, sum(setting in one.logs for one in made), None, Standing.FAILED)
        for setting in sorted(_failed(made))
    ]
