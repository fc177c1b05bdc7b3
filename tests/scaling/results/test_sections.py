"""Where the wall time of whole processes goes, over that on the most cores."""

from dataclasses import replace

import pytest

from benchmarks.shared.devices import pretend_study
from benchmarks.shared.devices import rows as device_rows
from benchmarks.shared.machines import machine, row, study
from scaling.results.rows import Sections
from scaling.results.sections import SECTIONS, Spread, sections_of
from scaling.study.planning import Cohort, plan

PARTS = Sections(spawn=1.0, imports=3.0, init=2.0, setup=4.0, first_step=1.0, run=8.0, main=16.0, wall=20.0)


def rows(toml="cores = [1, 2]\nlaunches = 2"):
    """Rows of a study whose second launches, and those on one core, take twice as long."""
    made = []
    for run in plan(study(toml), machine(2)).runs:
        factor = run.launch * (3 - run.point.cores)
        parts = {name: factor * getattr(PARTS, name) for name in Sections.__slots__}
        made.append(row(run, sections=Sections(**parts)))
    return [one for one in made if one.run.launch <= 2]


def test_sections_are_medians_over_launches_with_their_ends():
    one, two = sections_of(rows()).points
    assert (one.point.cores, two.point.cores, two.launches, two.steps) == (1, 2, 2, 3)
    assert tuple(two.seconds) == SECTIONS
    assert two.seconds["start"] == Spread(6.0, 4.0, 8.0)
    assert two.seconds["wall"] == Spread(30.0, 20.0, 40.0)
    assert one.seconds["run"] == Spread(24.0, 16.0, 32.0)


def test_sections_are_normalised_to_the_wall_time_on_the_most_cores():
    one, two = sections_of(rows()).points
    assert two.normalised["wall"].median == 1.0
    assert two.normalised["init"].median == pytest.approx(0.1)
    assert two.normalised["main"].median == pytest.approx(0.8)
    assert one.normalised["wall"].median == 2.0


def test_runs_that_were_forked_took_turns_or_failed_are_no_processes_of_their_own():
    first, second, third, fourth, *_ = rows()
    forked = replace(first, run=replace(first.run, start="fork"))
    in_turns = replace(second, run=replace(second.run, cohort=Cohort("a", 2)))
    failed = replace(third, outcome=replace(third.outcome, status="failed"))
    sections = sections_of([forked, in_turns, failed, fourth])
    assert (len(sections.points), sections.forked, sections.in_turns) == (1, 1, 1)
    assert sections_of([forked]).points == ()


def test_sections_on_a_gpu_are_over_the_wall_time_without_it():
    rows = [row for row in device_rows(pretend_study("sections")) if row.run.point.workload == "alexnet"]
    found = {(one.point.framework, one.point.device): one for one in sections_of(rows).points}
    on_cpu, on_gpu = found["jax", "cpu"], found["jax", "gpu"]
    assert on_cpu.normalised["wall"].median == pytest.approx(1.0)
    assert on_gpu.normalised["wall"].median == pytest.approx(
        on_gpu.seconds["wall"].median / on_cpu.seconds["wall"].median
    )
