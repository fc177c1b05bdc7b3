"""Energy from what meters said: exact over wrap-around, integrals of power, and figures of merit."""

import random
from dataclasses import replace
from itertools import accumulate
from statistics import fmean

import pytest

from scaling.analysis.energy import (
    MeterEnergy,
    PowerSeries,
    counted_joules,
    energy_figures,
    had_packages_alone,
    integrated_joules,
    launch_energy,
    meter_energy,
    power_trace,
    unwrap,
)
from scaling.analysis.turns import Turn


def counter(*readings: tuple[float, float], range_joules: float | None = None) -> PowerSeries:
    times, joules = zip(*readings, strict=True)
    return PowerSeries(times, joules, [None] * len(times), range_joules)


def test_a_counter_that_begins_anew_goes_on_where_it_was():
    assert unwrap([90.0, 99.5, 4.5, 60.0, 5.0], 100.0) == pytest.approx([0.0, 9.5, 14.5, 70.0, 115.0])


def test_a_counter_that_goes_back_without_a_range_says_nothing():
    assert unwrap([90.0, 99.0, 4.0], None) is None
    assert counted_joules(counter((0.0, 90.0), (1.0, 4.0)), [(0.0, 1.0)]) is None


def test_joules_are_exact_over_a_wrap_around():
    series = counter((0.0, 262143.0), (1.0, 262143.3), (2.0, 0.2), (3.0, 1.2), range_joules=262143.5)
    assert counted_joules(series, [(0.0, 3.0)]) == pytest.approx(1.7)
    assert counted_joules(series, [(1.0, 2.0), (2.0, 3.0)]) == pytest.approx(1.4)


def test_a_counter_is_interpolated_between_its_readings():
    assert counted_joules(counter((0.0, 0.0), (1.0, 100.0), (2.0, 300.0)), [(0.5, 1.5)]) == pytest.approx(150.0)


def test_a_counter_that_is_brought_up_to_date_now_and_then_had_its_value_when_it_changed():
    lagging = counter(*((0.01 * at, 100.0 * (at // 10) / 10) for at in range(101)))
    assert counted_joules(lagging, [(0.25, 0.75)]) == pytest.approx(50.0)


def test_the_integral_of_power_is_that_of_trapezoids():
    series = PowerSeries([0.0, 1.0, 2.0], [None] * 3, [100.0, 200.0, 200.0])
    assert integrated_joules(series, [(0.0, 2.0)]) == pytest.approx(350.0)
    assert integrated_joules(series, [(0.5, 1.5)]) == pytest.approx(0.5 * 175 + 0.5 * 200)


def test_power_is_told_from_a_counter_between_readings_that_are_not_too_close():
    series = counter((0.0, 0.0), (0.1, 5.0), (0.101, 5.1), (0.2, 10.0))
    assert power_trace(series) == [
        (pytest.approx(0.05), pytest.approx(50.0)),
        (pytest.approx(0.15), pytest.approx(50.0)),
    ]


def test_a_counter_that_stands_still_during_a_run_is_a_problem():
    energy = meter_energy("package 0", "package", counter((0.0, 5.0), (1.0, 5.0), (2.0, 5.0)), [(0.0, 2.0)], 10)
    assert energy.joules is None
    assert energy.problem == "the counter of package 0 did not change for 2.0 s"


def test_where_energy_is_counted_and_power_sampled_both_are_told():
    series = PowerSeries([0.0, 1.0, 2.0], [0.0, 100.0, 200.0], [99.0, 99.0, 99.0])
    energy = meter_energy("gpu 0", "gpu", series, [(0.0, 2.0)], 4, idle_watts=80.0)
    assert (energy.joules, energy.sampled_joules, energy.peak_watts) == pytest.approx((200.0, 198.0, 99.0))


def test_steps_that_are_over_before_a_gpu_s_counter_has_ticked_often_have_no_energy():
    series = PowerSeries([0.0, 1.0], [0.0, 100.0], [100.0, 100.0])
    energy = meter_energy("gpu 0", "gpu", series, [(0.2, 0.3)], 13)
    assert energy.joules is None
    assert (
        energy.problem == "the counted steps take 0.1 s, too short for gpu 0; measure enough steps to take 1 s or more"
    )


# Milliseconds of a GPU: another turn before, one under a cap whose steps draw power in bursts, and then none.
BEFORE, TURN, AFTER = 2000, 4000, 1500
COUNTED = ((BEFORE + 1000) / 1e3, (BEFORE + TURN) / 1e3)


def bursts(seed: int) -> list[float]:
    draws = random.Random(seed)
    levels = [draws.uniform(180.0, 420.0) for _ in range(TURN // 10)]
    return [600.0] * BEFORE + [levels[at // 10] for at in range(TURN)] + [80.0] * AFTER


def readings(watts: list[float], tick: int, seed: int) -> PowerSeries:
    """What is read of it about twenty times per second while turns last, as NVML tells it: a counter that ticks, power
    of 25 of the last 100 milliseconds, and mean power of the last second."""
    energy, draws = [0.0, *accumulate(one / 1e3 for one in watts)], random.Random(seed)
    phase, at = draws.randrange(100), float(BEFORE - 900)
    moments = []
    while at < BEFORE + TURN:
        moments.append(at)
        at += 51 + draws.random()
    moments += [BEFORE + TURN + 0.1, BEFORE + TURN + 1200.0]
    ticked = [tick * (int(one) // tick) for one in moments]
    told = [100 * ((int(one) - phase) // 100) + phase for one in moments]
    return PowerSeries(
        [one / 1e3 for one in moments],
        [energy[one] for one in ticked],
        [fmean(watts[one - 25 : one]) for one in told],
        mean_watts=[energy[one] - energy[one - 1000] for one in told],
        averaged_seconds=1.0,
    )


@pytest.mark.parametrize("tick", [1, 20, 100])
def test_a_counter_that_ticks_and_power_that_lags_agree_with_the_energy_of_a_turn(tick):
    apart = []
    for seed in range(20):
        watts = bursts(seed)
        true = sum(watts[BEFORE + 1000 : BEFORE + TURN]) / 1e3
        energy = meter_energy("gpu 0", "gpu", readings(watts, tick, seed), [COUNTED], 100)
        apart += [energy.joules / true - 1]
        assert energy.sampled_joules / true == pytest.approx(1.0, abs=0.02)
    assert max(map(abs, apart)) < 0.03
    assert abs(fmean(apart)) < 0.01


def test_power_of_a_quarter_of_the_time_scatters_and_its_mean_over_a_second_does_not():
    part, whole = [], []
    for seed in range(20):
        series = readings(bursts(seed), 20, seed)
        counted = counted_joules(series, [COUNTED])
        whole.append(abs(integrated_joules(series, [COUNTED]) / counted - 1))
        part.append(abs(integrated_joules(replace(series, mean_watts=()), [COUNTED]) / counted - 1))
    assert max(whole) < 0.5 * max(part)


def test_a_window_too_short_for_averaged_power_has_that_of_instants():
    times = [0.1 * at for at in range(20)]
    series = PowerSeries(times, [None] * 20, [200.0] * 20, mean_watts=[90.0] * 20, averaged_seconds=1.0)
    assert integrated_joules(series, [(0.2, 1.2)]) == pytest.approx(200.0)


def test_averaged_power_is_that_of_the_whole_window_although_its_means_cover_less():
    times = [0.1 * at for at in range(40)]
    series = PowerSeries(times, [None] * 40, [200.0] * 40, mean_watts=[90.0] * 40, averaged_seconds=1.0)
    assert integrated_joules(series, [(0.2, 2.7)]) == pytest.approx(2.5 * 90.0)


def test_means_that_are_those_of_instants_are_no_means():
    times, watts = [0.1 * at for at in range(41)], [300.0 if at % 10 else 100.0 for at in range(41)]
    series = PowerSeries(times, [None] * 41, watts, mean_watts=watts, averaged_seconds=1.0)
    assert integrated_joules(series, [(0.0, 4.0)]) == pytest.approx(4 * 280.0)


def test_a_counter_goes_on_as_it_did_where_nobody_read_it_after_a_turn():
    ticks = [(0.1 * at, 20.0 * at) for at in range(10)]
    assert counted_joules(counter(*ticks, (3.0, 190.0)), [(0.05, 0.95)]) == pytest.approx(180.0)
    assert counted_joules(counter(*ticks), [(0.05, 0.95)]) == pytest.approx(180.0)


def test_a_turn_beside_which_others_used_the_machine_did_not_have_its_packages_alone():
    def turn(**seconds: float) -> Turn:
        return Turn(1, 10, 0, 1.0, cpu_seconds=1.0, busy_seconds=1.0, **{"elsewhere_seconds": 0.0, **seconds})

    assert had_packages_alone(turn(), 1)
    assert had_packages_alone(turn(elsewhere_seconds=0.1), 1)
    assert not had_packages_alone(turn(elsewhere_seconds=0.2), 1)
    assert not had_packages_alone(turn(sibling_seconds=0.3), 1)


def meter(domain: str, joules: float | None, **more: float) -> MeterEnergy:
    return MeterEnergy(f"{domain} 0", domain, joules, seconds=10.0, steps=100, **more)


def test_the_energy_of_a_step_is_that_of_all_parts():
    energy = launch_energy([meter("package", 500.0, idle_watts=20.0), meter("dram", 100.0, idle_watts=5.0)])
    assert energy.joules == pytest.approx(6.0)
    assert energy.net_joules == pytest.approx(3.5)
    assert energy.seconds == pytest.approx(0.1)
    assert energy.watts == pytest.approx(60.0)
    assert energy.domains == ("package", "dram")


def test_the_energy_is_not_known_where_that_of_a_part_is_not():
    assert launch_energy([meter("package", 500.0), meter("gpu", None)]) is None
    assert launch_energy([]) is None
    assert launch_energy([meter("package", 500.0, idle_watts=20.0), meter("dram", 100.0)]).net_joules is None


def test_that_of_the_board_counts_where_there_is_no_other():
    assert launch_energy([meter("board", 900.0)]).watts == pytest.approx(90.0)
    assert launch_energy([meter("package", 500.0), meter("board", 900.0)]).watts == pytest.approx(50.0)


def test_the_energy_of_replicas_is_that_of_as_many_items():
    energy = launch_energy([meter("package", 500.0)], items_per_step=8, items_per_second=160.0)
    assert energy.joules == pytest.approx(50.0 * 8 / 160.0)


def test_figures_of_merit_have_intervals_over_launches():
    launches = [launch_energy([meter("package", joules, peak_watts=70.0)]) for joules in (490.0, 500.0, 510.0)]
    figures = energy_figures(launches, items=4)
    assert figures.joules.value == pytest.approx(5.0, rel=1e-3)
    assert figures.joules.low < 4.95 < 5.05 < figures.joules.high
    assert figures.joules_per_item.value == pytest.approx(1.25, rel=1e-3)
    assert figures.energy_delay.value == pytest.approx(0.5, rel=1e-3)
    assert figures.energy_delay_squared.value == pytest.approx(0.05, rel=1e-3)
    assert figures.net_joules is None
    assert figures.peak_watts.value == pytest.approx(70.0)
