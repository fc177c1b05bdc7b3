"""Which size takes the least energy, what it costs in time, and what caps do."""

from dataclasses import replace

import pytest

from benchmarks.shared.machines import study
from benchmarks.shared.power import metered_rows
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Summary, summarize
from scaling.features.energy.economy import cap_effects, economies
from scaling.results.rows import Row, launch_of

CAPS = 'workloads = ["calibrated", "stream"]\ncores = [4]\ncpu_power_watts = ["none", 45, 15]\n'


def summaries(toml: str) -> list[Summary]:
    return summarize(map(launch_of, metered_rows(study(toml, launches="5"))))


def test_the_most_economical_size_is_held_against_the_fastest():
    # P = 20 + 10 n and T = 0.1 + 0.9 / n: the energy is least at n = sqrt(18).
    (economy,) = economies(summaries('cores = "all"'))
    assert (economy.best.point.cores, economy.fastest.point.cores) == (4, 8)
    best, fastest = (60.0 * 0.325, 0.325), (100.0 * 0.2125, 0.2125)
    assert economy.energy_ratio.value == pytest.approx(best[0] / fastest[0], rel=0.01)
    assert economy.time_ratio.value == pytest.approx(best[1] / fastest[1], rel=0.01)
    assert economy.energy_ratio.low < economy.energy_ratio.value < economy.energy_ratio.high
    assert [one.point.cores for one in economy.frontier] == [8, 7, 6, 5, 4]


@pytest.mark.parametrize(("cores", "fastest"), [("'all'", False), ("[1, 2, 4]", True)])
def test_a_size_is_named_for_its_energy_only_if_the_launches_show_the_difference(cores, fastest):
    (economy,) = economies(summaries(f"cores = {cores}"))
    assert (economy.best is economy.fastest) is fastest
    assert economy.is_shown
    held, *others = economy.against
    unshown = replace(held, energy_ratio=replace(held.energy_ratio, high=1.01))
    wide = replace(held, energy_ratio=Estimate(held.energy_ratio.value))
    assert not any(replace(economy, against=(one, *others)).is_shown for one in (unshown, wide))


def test_the_best_size_and_the_frontier_are_those_of_pairs():
    # Two launches of 4 cores on a slow host have no partner on 2 cores: 4 cores are worse on average, better in pairs.
    rows = metered_rows(study("cores = [2, 4]", launches="5"))
    kept = [row for row in rows if row.run.launch < 4 or row.run.point.cores != 2]
    slow = [_times(3.0, row) if row.run.launch >= 4 else row for row in kept]
    (economy,) = economies(summarize(map(launch_of, slow)))
    assert economy.best is economy.fastest
    assert [one.point.cores for one in (economy.best, *economy.frontier)] == [4, 4]


def _times(factor: float, row: Row) -> Row:
    steps = tuple(factor * step for step in row.outcome.step_seconds)
    (energy,) = row.energy
    energy = replace(energy, joules=factor * energy.joules, seconds=factor * energy.seconds)
    return replace(row, outcome=replace(row.outcome, step_seconds=steps), energy=(energy,))


def test_a_single_point_is_compared_with_none():
    assert economies(summaries("cores = 1")) == []


def test_a_cap_is_held_against_no_cap_and_slows_some_workloads_only():
    effects = {
        (one.summary.point.workload, one.summary.point.cpu_power_watts): one
        for one in cap_effects(summaries(CAPS))
        if one.summary.point.cores == 4
    }
    assert set(effects) == {(name, cap) for name in ("calibrated", "stream") for cap in (45.0, 15.0)}
    assert [effects[name, 45.0].slows for name in ("calibrated", "stream")] == [True, False]
    slowed = effects["calibrated", 15.0]
    assert slowed.time_ratio.value == pytest.approx(2.0, rel=0.01)
    assert slowed.energy_ratio.value == pytest.approx(0.5, rel=0.01)
    assert slowed.energy_delay_ratio.value == pytest.approx(1.0, rel=0.02)
    assert all(one.reference.point.cpu_power_watts is None for one in effects.values())


@pytest.mark.parametrize(
    ("ratio", "slows"),
    [
        (Estimate(1.05, 1.01, 1.1), True),
        (Estimate(1.05, 0.99, 1.1), False),
        (Estimate(1.01, 1.005, 1.015), False),
        (Estimate(1.05), None),
    ],
)
def test_a_cap_slows_if_launches_show_it_and_by_enough_to_matter(ratio, slows):
    one = cap_effects(summaries(CAPS))[0]
    assert replace(one, time_ratio=ratio).slows is slows


def test_points_with_other_batches_are_compared_per_item():
    rows = [
        replace(row, outcome=replace(row.outcome, items_per_step=row.run.point.cores**2))
        for row in metered_rows(study("cores = [1, 2]", launches="5"))
    ]
    (economy,) = economies(summarize(map(launch_of, rows)))
    (over_one_core,) = economy.against
    assert economy.best.point.cores == 2
    assert over_one_core.time_ratio.value == pytest.approx(0.55 / 4, rel=0.01)
    assert over_one_core.energy_ratio.value == pytest.approx(40 * 0.55 / 30 / 4, rel=0.01)


def test_a_point_with_one_cap_is_looser_than_with_two():
    known = cap_effects(summaries("cores = 1\ncpu_power_watts = 25\ncpu_max_mhz = [2000, 'none']\n"))
    assert [(one.summary.point.cpu_max_mhz, one.reference.point.cpu_max_mhz) for one in known] == [(2000.0, None)]


def test_without_a_point_that_has_no_cap_the_loosest_is_the_reference():
    known = cap_effects(summaries('workloads = ["calibrated"]\ncores = 1\ncpu_power_watts = [25, 15]\n'))
    assert [(one.summary.point.cpu_power_watts, one.reference.point.cpu_power_watts) for one in known] == [(15.0, 25.0)]
