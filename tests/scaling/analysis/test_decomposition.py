from dataclasses import replace
from math import exp, log
from random import Random

import pytest

from benchmarks.shared.hosts import point
from scaling.analysis import rules
from scaling.analysis.rules import Doubt
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.analysis.turns import Adjusted, TurnTimes

ONE, TWO, SIXTEEN = (point(cores) for cores in (1, 2, 16))
ABOUT = (0.99, 1.0, 1.01, 1.0)


def launches(where, seconds, busy, *, spread=ABOUT, cohorts=True, **known):
    """Launches whose step times scatter, with the CPU time of a step unchanged."""
    return [
        Launch(
            where,
            number,
            seconds * factor,
            cpus_busy=None if busy is None else busy / factor,
            cohort=f"cohort {number}" if cohorts else None,
            **known,
        )
        for number, factor in enumerate(spread, 1)
    ]


def lost(one, many):
    """The point on more cores, which lies behind that on one."""
    return speedups(summarize([*one, *many]))[1]


# A step of one second on one core: cores, seconds and CPUs busy there, and what is lost to idle cores and computation.
PROGRAMS = {
    "nothing": (TWO, 0.5, 2.0, 0.0, 0.0),
    "half of the work is serial": (TWO, 0.75, 1 / 0.75, 1 / 3, 0.0),
    "a tenth of the work is serial": (SIXTEEN, 0.15625, 6.4, 0.6, 0.0),
    "one thread has 1.4 times its share": (TWO, 0.7, 1 / 0.7, 1 - 1 / 1.4, 0.0),
    "three quarters need a lock": (TWO, 0.75, 1 / 0.75, 1 / 3, 0.0),
    "memory is the limit": (TWO, 0.8, 2.0, 0.0, 0.375),
    "others spin meanwhile": (TWO, 0.75, 2.0, 0.0, 1 / 3),
    "idle cores and memory": (SIXTEEN, 0.125, 12.0, 0.25, 0.25),
    "caches of two cores hold it all": (TWO, 0.4, 2.0, 0.0, -0.25),
    "idle cores and caches": (TWO, 0.5, 1.6, 0.2, -0.2),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cohorts", [True, False])
def test_a_loss_is_found_where_it_is(name, cohorts):
    where, seconds, busy, idle, computation = PROGRAMS[name]
    found = lost(launches(ONE, 1.0, 1.0, cohorts=cohorts), launches(where, seconds, busy, cohorts=cohorts))
    parts = found.decomposition
    assert parts.idle.value == pytest.approx(idle, abs=1e-12)
    assert parts.computation.value == pytest.approx(computation, abs=1e-12)
    assert parts.idle.value + parts.computation.value == pytest.approx(1 - found.efficiency.value, abs=1e-12)
    assert parts.cpu_utilisation.value == pytest.approx(busy / where.cores, rel=1e-4)
    assert (1 - idle) * parts.computation_scaling.value == pytest.approx(found.efficiency.value)


def noisy(chance, where, seconds, busy, *, cohorts):
    drawn = [(seconds * exp(chance.gauss(0, 0.03)), busy * exp(chance.gauss(0, 0.02))) for _ in range(5)]
    return [
        Launch(where, number, time, cpus_busy=cpus, cohort=f"cohort {number}" if cohorts else None)
        for number, (time, cpus) in enumerate(drawn, 1)
    ]


@pytest.mark.parametrize("cohorts", [True, False])
def test_parts_of_noisy_launches_add_up_and_their_intervals_hold_the_truth(cohorts):
    chance, held = Random(1), [0, 0]
    for _ in range(300):
        one, many = (
            noisy(chance, where, seconds, busy, cohorts=cohorts)
            for where, seconds, busy in ((ONE, 1.0, 1.0), (SIXTEEN, 0.125, 12.0))
        )
        found = lost(one, many)
        parts = found.decomposition
        assert parts.idle.value + parts.computation.value == pytest.approx(1 - found.efficiency.value, abs=1e-12)
        held[0] += parts.idle.contains(0.25)
        held[1] += parts.computation.contains(0.25)
    assert [round(count / 300, 2) for count in held] == pytest.approx([0.95, 0.95], abs=0.035)


def test_more_work_under_weak_scaling_is_no_loss():
    one, two = (replace(where, scale="weak") for where in (ONE, TWO))
    parts = lost(launches(one, 1.0, 1.0), launches(two, 1.25, 1.6)).decomposition
    assert (parts.idle.value, parts.computation.value) == (pytest.approx(0.2), pytest.approx(0.0))
    assert parts.computation_scaling.value == pytest.approx(1.0)


def test_a_program_that_waits_on_one_core_too_loses_nothing_by_that():
    parts = lost(launches(ONE, 1.0, 0.6), launches(TWO, 0.5, 1.2)).decomposition
    assert (parts.idle.value, parts.computation.value) == (pytest.approx(0.0), pytest.approx(0.0))
    assert parts.cpu_utilisation.value == pytest.approx(0.6, rel=1e-4)


def test_both_threads_of_a_core_count_as_cpus():
    one, two = (replace(where, smt=2) for where in (ONE, TWO))
    parts = lost(launches(one, 1.0, 2.0), launches(two, 0.5, 3.6)).decomposition
    assert parts.cpu_utilisation.value == pytest.approx(0.9, rel=1e-4)
    assert parts.idle.value == pytest.approx(0.1)


def test_a_baseline_has_lost_nothing_by_definition():
    at_one, _ = speedups(summarize([*launches(ONE, 1.0, 0.9), *launches(TWO, 0.5, 1.8)]))
    assert {
        end for part in (at_one.decomposition.idle, at_one.decomposition.computation) for end in (part.low, part.high)
    } == {0.0}
    assert at_one.decomposition.cpu_utilisation.value == pytest.approx(0.9, rel=1e-4)


def test_cpu_time_that_others_took_of_a_point_may_be_why_its_cores_were_idle():
    one, known = launches(ONE, 1.0, 1.0), lost(launches(ONE, 1.0, 1.0), launches(TWO, 0.75, 1.3)).decomposition
    taken = (TurnTimes(1, 1.0, 0.0, stolen=0.05),)
    parts = lost(one, launches(TWO, 0.75, 1.3, turns=taken)).decomposition
    assert (parts.idle.value, parts.idle.high) == (known.idle.value, known.idle.high)
    assert 1 - parts.idle.low == pytest.approx((1 - known.idle.low) / 0.95)


def test_one_launch_has_parts_without_an_interval():
    parts = lost(launches(ONE, 1.0, 1.0, spread=(1.0,)), launches(TWO, 0.75, 2.0, spread=(1.0,))).decomposition
    assert parts.computation.value == pytest.approx(1 / 3)
    assert {parts.idle.low, parts.computation.low, parts.computation_scaling.low} == {None}


@pytest.mark.parametrize(
    ("one", "many"),
    [
        (launches(ONE, 1.0, None), launches(TWO, 0.75, 2.0)),
        (launches(ONE, 1.0, 1.0), launches(TWO, 0.75, None)),
        (launches(ONE, 1.0, 1.0), launches(TWO, 0.75, 2.0, doubts=(Doubt(rules.STEAL, 0.5),))),
        (launches(ONE, 1.0, 1.0, doubts=(Doubt(rules.STEAL, 0.5),)), launches(TWO, 0.75, 2.0)),
    ],
    ids=["no CPU time on one core", "no CPU time on two", "disturbed", "a disturbed baseline"],
)
def test_what_is_not_known_is_not_taken_apart(one, many):
    assert lost(one, many).decomposition is None


def test_computation_is_instructions_times_ipc_times_clock():
    one = launches(ONE, 1.0, 1.0, ipc=2.0, clock_hz=4e9)
    # 5 % more instructions, an IPC of 1.6 instead of 2, and 3.5 instead of 4 GHz.
    cpu_seconds = 1.05 * (2.0 / 1.6) * (4.0 / 3.5)
    two = launches(TWO, cpu_seconds / 1.8, 1.8, ipc=1.6, clock_hz=3.5e9)
    parts = lost(one, two).decomposition
    factors = parts.counters
    assert factors.instructions.value == pytest.approx(1 / 1.05)
    assert (factors.ipc.value, factors.clock.value) == (pytest.approx(0.8), pytest.approx(0.875))
    assert sum(parts.computation_parts) == pytest.approx(parts.computation.value)
    assert parts.computation_parts == pytest.approx((0.9 * 0.05 / 1.05, 0.9 / 1.05 * 0.2, 0.9 / 1.05 * 0.8 * 0.125))


def test_a_launch_that_was_adjusted_keeps_the_cpu_time_of_its_step():
    # A fifth of the time was taken by others, and the step was moved from 0.75 to 0.6 seconds.
    moved = Adjusted(0.6, log(0.75 / 0.6), 0.01)
    parts = lost(launches(ONE, 1.0, 1.0), launches(TWO, 0.6, 1.6, adjusted=moved)).decomposition
    assert parts.cpu_utilisation.value == pytest.approx(1.0, rel=1e-4)
    assert parts.idle.value == pytest.approx(0.0, abs=1e-12)
    assert parts.computation.value == pytest.approx(1 - 1 / 1.2)


def test_without_counters_on_both_sides_computation_is_one_part():
    counted, plain = {"ipc": 2.0, "clock_hz": 4e9}, {}
    for first, second in ((counted, plain), (plain, counted), (plain, plain)):
        parts = lost(launches(ONE, 1.0, 1.0, **first), launches(TWO, 0.75, 2.0, **second)).decomposition
        assert (parts.counters, parts.computation_parts) == (None, None)


@pytest.mark.parametrize(("seconds", "busy"), [(1e-300, 1e6), (1e300, 1e-6), (1e-9, 1e-6)])
def test_figures_beyond_belief_are_no_error(seconds, busy):
    parts = lost(launches(ONE, 1.0, 1.0), launches(TWO, seconds, busy)).decomposition
    assert parts is None or parts.computation.value == parts.computation.value
