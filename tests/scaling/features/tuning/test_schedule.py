from itertools import groupby
from math import log2

import pytest

from benchmarks.shared.machines import launch_chance, machine, row, study
from scaling.features.tuning.grid import Objective, grid
from scaling.features.tuning.schedule import TuningSchedule, most_launches
from scaling.features.tuning.search import CONFIRMATION, CohortLaunch, space
from scaling.results.rows import launch_of
from scaling.study.planning import block

HOST = machine(8)
THREADS = 'intra = ["auto", 1, 2, 4, 8]\ninter = ["auto", 1, 2, 4, 8]\n'
TOML = f'workloads = ["autoenc"]\ndesign = "turns"\nrounds = 1\nlaunches = 1\n{THREADS}'


def schedule(toml: str = TOML + "cores = [8]\n", earlier=(), **options) -> TuningSchedule:
    made = study(toml)
    settings = grid(made, HOST, {name: {} for name in made.workloads})
    return TuningSchedule(
        made,
        settings.points,
        space(settings.values, settings.named),
        lambda points, number: block(made, HOST, points, number),
        earlier,
        **options,
    )


def seconds(point) -> float:
    """Best with four threads within operations and two operations at once; the default is slower by a third."""
    intra, inter = point.threads(point.intra) or 16, point.threads(point.inter) or 8
    return (1 + 0.1 * abs(log2(intra) - 2) + 0.06 * abs(log2(inter) - 1)) / point.cores**0.5


def carry_out(search: TuningSchedule, most: int = 1000, fails=lambda point: False) -> list:
    rows = []
    for run in search:
        noise = 1 + launch_chance(run).gauss(0, 0.01)
        failed = {"status": "failed", "reason": "no"} if fails(run.point) else {}
        rows.append(row(run, step_seconds=(seconds(run.point) * noise,) * 5, **failed))
        search.record(launch_of(rows[-1]))
        if len(rows) == most:
            break
    return rows


def as_earlier(rows) -> list[CohortLaunch]:
    return [CohortLaunch(launch_of(one), one.run.cohort) for one in rows]


def test_a_search_ends_with_the_best_setting_and_every_launch_has_a_number_of_its_own():
    search = schedule()
    rows = carry_out(search)
    ended = search.outcome()
    assert (search.points[ended.winner].intra, search.points[ended.winner].inter) == (4, 2)
    keys = [one.run.key for one in rows]
    assert len(set(keys)) == len(keys)
    cohorts = [list(group) for _, group in groupby(rows, key=lambda one: one.run.cohort)]
    assert all(len(cohort) == cohort[0].run.cohort.members for cohort in cohorts)
    assert {len({one.run.cpus for one in cohort}) for cohort in cohorts} == {1}
    assert len(rows) == search.completed <= most_launches(len(search.points), False)


@pytest.mark.parametrize("cut", [3, 8, 30])
def test_a_search_that_was_killed_goes_on_and_a_cohort_cut_short_does_not_count(cut):
    rows = carry_out(schedule(), cut)
    whole = [one for one in rows if sum(other.run.cohort == one.run.cohort for other in rows) == one.run.cohort.members]
    again = schedule(earlier=as_earlier(rows))
    assert sum(len(one.logs) for one in again.made) == len(whole)
    further = carry_out(again)
    keys = [one.run.key for one in (*rows, *further)]
    assert len(set(keys)) == len(keys)
    assert (again.points[again.outcome().winner].intra, again.points[again.outcome().winner].inter) == (4, 2)
    assert schedule(earlier=as_earlier([*rows, *further])).next_cohort() is None


def test_the_cohorts_of_the_confirmation_are_known_by_their_name():
    rows = carry_out(schedule())
    again = schedule(earlier=as_earlier(rows))
    names = dict.fromkeys(one.run.cohort.name for one in rows)
    assert [one.confirms for one in again.made] == [name.startswith(CONFIRMATION) for name in names]


def test_throughput_per_core_counts_cores():
    few = schedule(TOML + "cores = [1, 2, 4, 8]\n", objective=Objective.THROUGHPUT_PER_CORE)
    carry_out(few)
    assert few.points[few.outcome().winner].cores == 1
    many = schedule(TOML + "cores = [1, 2, 4, 8]\n", objective=Objective.THROUGHPUT)
    carry_out(many)
    assert many.points[many.outcome().winner].cores == 8


def test_a_budget_ends_a_search_and_the_first_cohort_is_made_however_short_it_is():
    made: list[TuningSchedule] = []
    made.append(schedule(budget_seconds=60.0, now=lambda: float(made[0].completed) if made else 0.0))
    (search,) = made
    rows = carry_out(search)  # a launch takes a second
    assert 50 < len(rows) <= 60
    assert search.next_cohort() is None
    hasty = schedule(budget_seconds=1e-9, now=lambda: 0.0)
    assert len(carry_out(hasty)) == 2


def test_settings_that_fail_are_given_up_for_others():
    search = schedule()
    carry_out(search, fails=lambda point: point.intra == 4)
    assert search.points[search.outcome().winner].intra != 4
