"""When a launch has taken enough steps, and what its process imports before the first."""

import random
import subprocess
import sys
from types import SimpleNamespace

import pytest

from scaling.running.worker import LEAST_STEPS, half_width, next_check, stop_reason

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


def test_the_worker_imports_nothing_heavy_before_it_has_checked_its_pinning():
    code = "import sys; import scaling.running.worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "scipy", "pydantic", "tensorflow", "importlib.metadata"} & set(loaded.stdout.split())
