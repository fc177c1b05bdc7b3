"""When a launch has taken enough steps, and which of them count."""

import random
from collections.abc import Iterable
from types import SimpleNamespace

import pytest

from scaling.running import steps
from scaling.running.messages import TurnRequest
from scaling.running.steps import LEAST_STEPS, Measured, half_width, next_check, stop_reason
from scaling.study.planning import SETTLE_SECONDS

LIMITS = SimpleNamespace(precision=0.01, max_seconds=5.0, steps=None)


def test_steady_steps_end_by_precision():
    assert stop_reason([1.0] * LEAST_STEPS, 1.0, LIMITS) == "precision"


def test_a_few_steps_are_never_enough():
    assert stop_reason([1.0] * (LEAST_STEPS - 1), 1.0, LIMITS) is None


def test_noisy_steps_go_on_until_the_time_is_up():
    noise = random.Random(1)
    steps = [noise.uniform(1, 2) for _ in range(50)]
    assert stop_reason(steps, 1.0, LIMITS) is None
    assert stop_reason(steps, 5.0, LIMITS) == "max_seconds"


def test_slow_first_steps_do_not_hold_precision_up():
    assert stop_reason([9.0, 5.0, 3.0, *[1.0] * 10], 1.0, LIMITS) == "precision"


@pytest.mark.parametrize("count", [11, 31, 101])
def test_the_interval_of_the_median_holds_the_truth(count):
    noise = random.Random(count)
    held = 0
    for _ in range(400):
        values = sorted(noise.gauss(100, 1) for _ in range(count))
        middle = values[count // 2]
        held += abs(middle - 100) <= 2 * half_width(values) * middle
    assert held / 400 >= 0.95


def test_checks_grow_rarer():
    checks = [LEAST_STEPS]
    while checks[-1] < 10_000:
        checks.append(next_check(checks[-1]))
    assert len(checks) < 40
    assert checks == sorted(set(checks))


class PretendClock:
    """A clock that only a step moves, by an eighth of a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def step(self) -> None:
        self.now += 0.125


def measured_turns(requests: Iterable[TurnRequest], monkeypatch: pytest.MonkeyPatch) -> Measured:
    """What a process measures in the turns that are requested from it, by a pretend clock."""
    clock, waiting = PretendClock(), iter(requests)
    monkeypatch.setattr(steps, "time", clock)
    monkeypatch.setattr(steps, "_witness", lambda before, cpu_sets, visits: {"cpu_seconds": clock.now - before})
    pipes = SimpleNamespace(send=lambda message: None, next_turn=lambda: next(waiting, None))
    cpu_sets = SimpleNamespace(cpus=frozenset({0}), read=clock.perf_counter)
    return steps.take_turns(SimpleNamespace(step=clock.step), [], cpu_sets, pipes)


def test_the_witness_of_a_run_is_that_of_its_turns_without_warm_up(monkeypatch):
    seen = measured_turns([TurnRequest(0, 4.0, 0.0), TurnRequest(1, 1.0, 0.0), TurnRequest(2, 2.0, 0.0)], monkeypatch)
    assert [turn.cpu_seconds for turn in seen.turns] == [4.0, 1.0, 2.0]
    assert (seen.seconds, seen.counters) == (3.0, {"cpu_seconds": 3.0})


def test_the_first_steps_of_a_turn_settle_and_do_not_count(monkeypatch):
    seen = measured_turns([TurnRequest(1, 1.0, SETTLE_SECONDS)], monkeypatch)
    (turn,) = seen.turns
    assert (turn.steps, turn.unsettled, turn.seconds) == (11, 3, 1.0)
    assert seen.spans[0].counted == [(0.375, 1.375)]
