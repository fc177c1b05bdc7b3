from collections import Counter
from dataclasses import replace
from itertools import groupby

import pytest
from msgspec import structs

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.summary import Launch
from scaling.errors import StudyError
from scaling.results.rows import launch_of
from scaling.running.schedule import PairedSchedule, Side
from scaling.study.planning import Run, block, plan

TURNS = 'workloads = ["calibrated", "matmul"]\ncores = [1, 2]\nlaunches = 3\ndesign = "turns"\n'
FIRST, SECOND = study(TURNS + "intra = 1"), study(TURNS + "intra = 2")
HOST = machine(2)


def side(of=FIRST, earlier: list[Launch] = ()) -> Side:
    points = list(dict.fromkeys(run.point for run in plan(of, HOST).runs))
    return Side(points, lambda launch: block(of, HOST, points, launch), list(earlier))


def carry_out(schedule: PairedSchedule, most: int = 1000) -> tuple[list[Run], list[list[Launch]]]:
    """The first runs of a schedule on a pretend machine, and the launches of either side."""
    runs, sides = [], [[], []]
    for row in AmdahlMachine().execute(schedule):
        sides[schedule.next_side].append(launch_of(row))
        schedule.record(launch_of(row))
        runs.append(row.run)
        if len(runs) == most:
            break
    return runs, sides


def test_a_cohort_has_all_core_counts_of_a_series_of_both_sides():
    runs, _ = carry_out(PairedSchedule(FIRST, side(), side(SECOND)))
    cohorts = [list(group) for _, group in groupby(runs, key=lambda run: run.cohort)]
    assert len(cohorts) == 2 * 3
    for cohort in cohorts:
        assert [(run.point.intra, run.point.cores) for run in cohort] == [(1, 1), (1, 2), (2, 1), (2, 2)]
        assert len({(run.point.workload, run.launch) for run in cohort}) == 1
        assert cohort[0].cohort.members == len(cohort)
        assert cohort[0].cpus == cohort[2].cpus


def test_every_series_takes_its_turn_before_any_has_another_launch():
    runs, _ = carry_out(PairedSchedule(FIRST, side(), side(SECOND)))
    assert [run.launch for run in runs] == [1] * 8 + [2] * 8 + [3] * 8


def test_the_same_settings_twice_are_two_sides_all_the_same():
    runs, sides = carry_out(PairedSchedule(FIRST, side(), side()))
    assert len(runs) == 24
    assert [launch.point for launch in sides[0]] == [launch.point for launch in sides[1]]
    assert len({launch.cohort for launch in sides[0]}) == 6


@pytest.mark.parametrize("most", [3, 4, 9, 23, 24])
def test_a_cohort_that_was_cut_short_is_made_again_as_a_whole(most):
    _, (one, other) = carry_out(PairedSchedule(FIRST, side(), side(SECOND)), most)
    schedule = PairedSchedule(FIRST, side(FIRST, one), side(SECOND, other))
    assert len(schedule.pending) == 24 - most // 4 * 4
    _, (more, further) = carry_out(schedule)
    for launches in (one + more, other + further):
        keys = [(launch.point, launch.number) for launch in launches]
        assert len(set(keys)) == len(keys)
    shared = Counter(launch.cohort for launch in (*one, *more, *other, *further))
    assert sum(members == 4 for members in shared.values()) == 6
    assert not PairedSchedule(FIRST, side(FIRST, one + more), side(SECOND, other + further)).pending


def test_rows_that_were_set_aside_have_their_cohort_made_again():
    _, (one, other) = carry_out(PairedSchedule(FIRST, side(), side(SECOND)))
    schedule = PairedSchedule(FIRST, side(FIRST, one[1:]), side(SECOND, other))
    assert [run.launch for run in schedule.pending] == [4] * 4


def test_more_launches_may_be_asked_for_later():
    _, (one, other) = carry_out(PairedSchedule(FIRST, side(), side(SECOND)))
    more = replace(FIRST, launches=4)
    assert len(PairedSchedule(more, side(more, one), side(SECOND, other)).pending) == 8


def test_sides_without_as_many_series_are_refused():
    with pytest.raises(StudyError, match=r"2 series .* second 1"):
        PairedSchedule(FIRST, side(), side(study('cores = [1, 2]\ndesign = "turns"')))


class Clock:
    """Ten seconds pass with every run."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def within_budget(seconds: float, noise: float, launches: int = 2) -> PairedSchedule:
    """A budgeted comparison carried out on a machine of so much noise."""
    clock, short = Clock(), replace(FIRST, launches=launches, precision=0.01)
    schedule = PairedSchedule(short, side(), side(SECOND), seconds, clock)
    for row in AmdahlMachine(noise=noise).execute(schedule):
        clock.seconds += 10.0
        wall = structs.replace(row.outcome.sections, wall=10.0)
        schedule.record(launch_of(replace(row, outcome=replace(row.outcome, sections=wall))))
    return schedule


def test_within_a_budget_no_series_ends_before_five_launches_however_they_agree():
    assert within_budget(1e6, noise=1e-5).completed == 2 * 4 * 5


def test_further_launches_are_made_until_ratios_are_precise():
    schedule = within_budget(1e6, noise=0.02)
    assert schedule.completed > 2 * 4 * 5
    assert all(ratio.half_width <= 0.01 for ratio in schedule.ratios())


def test_whole_launches_are_made_as_long_as_the_budget_lasts():
    schedule = within_budget(500.0, noise=0.5)
    assert (schedule.completed, schedule.pending) == (48, [])
    assert within_budget(1.0, noise=0.5).completed == 4


def test_time_left_falls_as_runs_are_made():
    schedule = PairedSchedule(FIRST, side(), side(SECOND))
    before = schedule.remaining_seconds()
    carry_out(schedule, 8)
    assert (schedule.completed, schedule.total) == (8, 24)
    assert schedule.remaining_seconds() < before
