from dataclasses import replace
from itertools import product
from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.shared.machines import first_run
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Launch
from scaling.analysis.turns import TurnTimes
from scaling.features.tuning.grid import Objective
from scaling.features.tuning.search import (
    COHORT,
    CONFIRMATIONS,
    CohortLaunch,
    CohortLogs,
    Race,
    Space,
    Standing,
    cohort_logs,
    next_cohort,
    outcome,
    space,
)
from scaling.study.planning import Cohort

GRID = [
    {"intra": 64, "inter": 64, "placement": "compact"},
    *(
        {"intra": intra, "inter": inter, "placement": placement}
        for intra, inter, placement in product((1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8), ("compact", "scatter"))
    ),
]
RECIPE = GRID.index({"intra": 64, "inter": 1, "placement": "compact"})
SPACE = space(GRID, [RECIPE])


def valley(setting: dict) -> float:
    x, y = log2(setting["intra"]) - 3, log2(setting["inter"]) - 1
    return 0.03 * x * x + 0.03 * y * y + (0.05 if setting["placement"] == "scatter" else 0.0)


def plateau(setting: dict) -> float:
    return 0.2 * max(0.0, 4 - log2(setting["intra"]))


def search(surface, limit: int = 120, noise: float = 0.01, seed: int = 1, grid: Space = SPACE, fails=()) -> list:
    """The cohorts of a search on a surface whose level wanders."""
    chance = np.random.default_rng(seed)
    made: list[CohortLogs] = []
    while cohort := next_cohort(grid, made, limit - sum(len(one.logs) for one in made)):
        level = chance.normal(0, 0.2)
        logs = {
            one: None if one in fails else surface(GRID[one]) + level + chance.normal(0, noise)
            for one in cohort.settings
        }
        made.append(CohortLogs(logs, cohort.confirms))
    return made


def test_the_best_of_a_grid_is_found_with_a_fraction_of_its_launches_and_its_gain_is_covered():
    covered = 0
    for seed in range(8):
        made = search(valley, seed=seed)
        ended = outcome(SPACE, made)
        assert valley(GRID[ended.winner]) < 0.02
        assert ended.beaten
        assert sum(len(one.logs) for one in made) <= 120
        assert ended.is_answer
        covered += bool(ended.gain.contains(np.exp(valley(GRID[0]) - valley(GRID[ended.winner]))))
    assert covered >= 6


def test_nothing_beats_the_default_is_an_answer():
    ends = [outcome(SPACE, search(plateau, seed=seed)) for seed in range(8)]
    kept = [ended for ended in ends if not ended.beaten]
    assert len(kept) >= 7
    assert {ended.winner for ended in kept} == {0}
    assert all(ended.challenger != 0 and ended.gain.low < 1 for ended in kept)


def test_a_short_search_whose_default_leads_measures_what_is_left_instead_of_confirming_a_slower_setting():
    """The default is second to the one setting that lies far from all that the start has."""
    grid = [{"intra": 16, "inter": 16}, *({"intra": a, "inter": b} for a in (4, 8, 16) for b in (1, 2, 4))]
    small, best = space(grid, [grid.index({"intra": 16, "inter": 1})]), grid.index({"intra": 16, "inter": 4})

    def seconds(one: int) -> float:
        return 0.0 if one == best else 0.04 if one == 0 else 0.5 / grid[one]["inter"]

    for seed in range(5):
        chance = np.random.default_rng(seed)
        made: list[CohortLogs] = []
        while cohort := next_cohort(small, made, 20 - sum(len(one.logs) for one in made)):
            logs = {one: seconds(one) + chance.normal(0, 0.005) for one in cohort.settings}
            made.append(CohortLogs(logs, cohort.confirms))
        assert best not in made[0].logs
        assert any(best in one.logs for one in made)
        ended = outcome(small, made)
        assert ended.competitors[0].setting == best


def test_cohorts_are_linked_and_the_confirmation_has_the_default_those_with_names_and_one_winner():
    made = search(valley)
    assert all(2 <= len(one.logs) <= COHORT for one in made)
    before: set[int] = set(made[0].logs)
    for one in made[1:]:
        assert before & {*one.logs}
        before |= {*one.logs}
    assert RECIPE in made[0].logs
    confirming = [one for one in made if one.confirms]
    assert len(confirming) >= CONFIRMATIONS
    assert {tuple(one.logs) for one in confirming} == {(0, RECIPE, outcome(SPACE, made).challenger)}
    assert [one.confirms for one in made] == sorted(one.confirms for one in made)


def test_the_gain_comes_from_the_launches_after_the_choice_alone():
    """Identical settings: whatever luck has chosen the best of the race is not in its gain."""
    gains = [outcome(SPACE, search(lambda setting: 0.0, noise=0.03, seed=seed)).gain for seed in range(25)]
    assert abs(np.mean(np.log([gain.value for gain in gains]))) < 0.008
    assert sum(gain.low <= 1 <= gain.high for gain in gains) >= 21


def test_a_winner_that_fails_in_its_confirmation_is_followed_by_the_next_best():
    unnamed = replace(SPACE, named=())
    made = search(valley, grid=unnamed)
    cut = next(number for number, one in enumerate(made) if one.confirms)
    failed = outcome(unnamed, made[:cut]).challenger
    made = [*made[:cut], CohortLogs({**made[cut].logs, failed: None}, confirms=True)]
    following = next_cohort(unnamed, made, 40)
    assert following.confirms
    assert following.settings[0] == 0
    next_best = following.settings[-1]
    assert next_best not in (0, failed)
    for number in range(CONFIRMATIONS):
        made.append(CohortLogs({one: valley(GRID[one]) + 1e-4 * number * one for one in following.settings}, True))
    ended = outcome(unnamed, made)
    assert (ended.challenger, ended.winner, ended.beaten) == (next_best, next_best, True)


def test_disturbed_launches_confirm_nothing():
    made = search(valley)
    challenger = outcome(SPACE, made).challenger
    noisy = [replace(one, disturbed=frozenset({challenger})) if one.confirms else one for one in made]
    ended = outcome(SPACE, noisy)
    assert (ended.gain, ended.is_answer, ended.winner) == (None, False, 0)
    assert ended.disturbed == ended.confirmations >= CONFIRMATIONS


def test_a_gain_known_to_more_than_a_factor_of_three_is_no_answer():
    ended = outcome(SPACE, search(valley))
    assert replace(ended, gain=Estimate(2.0, 1.9, 2.1)).is_answer
    assert not replace(ended, gain=Estimate(2.0, 1.0, 4.0)).is_answer
    assert not replace(ended, gain=Estimate(2.0)).is_answer


def turns(*disturbances: float) -> tuple[TurnTimes, ...]:
    return tuple(TurnTimes(number, 1.0, one) for number, one in enumerate(disturbances, 1))


def test_a_launch_is_disturbed_where_no_round_was_quiet_for_it_and_the_default():
    points = [replace(first_run().point, intra=number) for number in (1, 2, 3)]
    quietness = [turns(0.0, 0.0, 5.0), turns(5.0, 0.0, 0.0), turns(5.0, 5.0, 0.0)]
    cohort = Cohort("confirmation-1", 3)
    launches = [
        CohortLaunch(Launch(point, 1, 1.0, turns=own), cohort) for point, own in zip(points, quietness, strict=True)
    ]
    (logs,) = cohort_logs(launches, points)
    assert (logs.confirms, logs.disturbed) == (True, {2})


@pytest.mark.parametrize(
    ("objective", "second"),
    [
        (Objective.LATENCY, 0.0),
        (Objective.THROUGHPUT, -log(8)),
        (Objective.THROUGHPUT_PER_CORE, log(4) - log(8)),
    ],
)
def test_a_setting_is_weighed_by_its_items_and_cores_if_the_objective_asks_for_them(objective, second):
    points = [replace(first_run().point, cores=cores) for cores in (1, 4)]
    launches = [Launch(point, 1, 1.0, items) for point, items in zip(points, (1, 8), strict=True)]
    (made,) = cohort_logs([CohortLaunch(one, Cohort("race-1", 2)) for one in launches], points, objective)
    assert made.logs == pytest.approx({0: 0.0, 1: second})


def test_a_cohort_that_was_cut_short_compares_nothing():
    points = [replace(first_run().point, intra=number) for number in (1, 2, 3)]
    made = [CohortLaunch(Launch(point, 1, 1.0), Cohort("race-1", 3)) for point in points]
    assert len(cohort_logs(made, points)) == 1
    assert cohort_logs(made[:2], points) == []


def test_the_race_that_chose_a_setting_does_not_confirm_it():
    made = [CohortLogs({0: 0.1 + number / 1000, 1: 0.0}) for number in range(8)]
    ended = outcome(space([{"intra": 1}, {"intra": 2}]), made)
    assert (ended.challenger, ended.confirmations, ended.gain, ended.beaten) == (1, 0, None, False)


def test_a_setting_that_fails_is_dropped_and_never_launched_again():
    best = min(range(len(GRID)), key=lambda one: valley(GRID[one]))
    made = search(valley, fails={best, best + 1})
    ended = outcome(SPACE, made)
    assert ended.winner not in (best, best + 1)
    for one in (best, best + 1):
        assert sum(one in cohort.logs for cohort in made) <= 1
    assert {one.standing for one in ended.competitors if one.setting in (best, best + 1)} <= {Standing.FAILED}


def test_where_the_default_fails_the_best_other_wins():
    ended = outcome(SPACE, search(valley, fails={0}))
    assert ended.winner == ended.challenger
    assert ended.beaten
    assert ended.gain is None


def test_where_everything_fails_the_search_ends():
    made = search(valley, fails=set(range(len(GRID))))
    assert len(made) == 1
    assert outcome(SPACE, made).winner is None


def test_clearly_slower_settings_are_dropped():
    ended = outcome(SPACE, search(valley))
    standings = {one.setting: one.standing for one in ended.competitors}
    assert standings[ended.winner] is Standing.WINNER
    slow = [one for one in standings if valley(GRID[one]) > 0.2]
    assert slow
    assert all(standings[one] is Standing.DROPPED for one in slow)


def test_the_start_has_the_named_settings_and_others_spread_over_the_grid():
    start = SPACE.start(12)
    assert start[:2] == [0, RECIPE]
    assert len(set(start)) == 12
    assert {GRID[one]["placement"] for one in start} == {"compact", "scatter"}
    assert len({GRID[one]["intra"] for one in start}) >= 4


@given(st.integers(2, 60), st.integers(0, 1000))
@settings(max_examples=15)
def test_a_search_never_makes_more_launches_than_it_may(limit, seed):
    made = search(valley, limit=limit, seed=seed)
    assert 1 <= sum(len(one.logs) for one in made) <= limit


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_a_search_goes_on_from_its_cohorts_as_if_it_had_not_stopped(cut):
    made = search(valley)
    left = 120 - sum(len(one.logs) for one in made[:cut])
    following = next_cohort(SPACE, made[:cut], left)
    assert following is not None
    assert (following.settings, following.confirms) == (tuple(made[cut].logs), made[cut].confirms)


def test_two_settings_are_enough():
    pair = space([{"block": 1}, {"block": 2}])
    made: list[CohortLogs] = []
    while cohort := next_cohort(pair, made, 48 - sum(len(one.logs) for one in made)):
        made.append(CohortLogs({one: 0.1 * one + 0.001 * len(made) * one for one in cohort.settings}, cohort.confirms))
    ended = outcome(pair, made)
    assert ended.winner == 0
    assert ended.gain.high < 1


def test_launches_go_to_the_best_and_halving_leaves_the_others_with_few():
    made = search(valley, noise=0.03, limit=200)
    race = Race(SPACE, [one for one in made if not one.confirms])
    first, last = (np.mean([race.launches[one] for one in part]) for part in (race.ranked[:5], race.ranked[-15:]))
    assert first > 3 * last


def test_a_launch_that_never_left_a_slow_cpu_hardly_counts():
    logs = [{0: 0.0, 1: -0.1, 2: 0.1}, {0: 0.0, 1: 0.2, 2: 0.1}, {0: 0.01, 1: -0.11, 2: 0.1}, {0: 0.0, 1: -0.1, 2: 0.1}]
    slower, _ = Race(space([{"n": 1}, {"n": 2}, {"n": 3}]), [CohortLogs(one) for one in logs]).difference(1, 0)
    assert slower == pytest.approx(-0.1, abs=0.02)


def test_neighbours_differ_by_one_level_of_one_axis_or_in_a_category():
    beside = SPACE.neighbours(GRID.index({"intra": 8, "inter": 1, "placement": "compact"}))
    assert sorted((GRID[one]["intra"], GRID[one]["inter"], GRID[one]["placement"]) for one in beside) == [
        (4, 1, "compact"),
        (8, 1, "scatter"),
        (8, 2, "compact"),
        (16, 1, "compact"),
    ]
