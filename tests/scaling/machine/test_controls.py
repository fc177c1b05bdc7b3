"""Controls read, set and restore one setting of the machine, a switch as well as a number."""

import pytest

from benchmarks.shared.power import packages, write
from scaling.machine.controls import CAPS, switch

NUMA_BALANCING = switch("proc/sys/kernel/numa_balancing")


@pytest.mark.parametrize(("value", "text"), [(False, "0"), (True, "1")])
def test_a_switch_is_set_read_back_and_restored(tmp_path, value, text):
    write(tmp_path, {"proc/sys/kernel/numa_balancing": 2})
    (part, before), *others = NUMA_BALANCING.read(tmp_path).items()
    assert others == []
    NUMA_BALANCING.apply(part, value)
    assert (tmp_path / "proc/sys/kernel/numa_balancing").read_text() == text
    assert NUMA_BALANCING.holds(value, NUMA_BALANCING.value(part))
    assert not NUMA_BALANCING.holds(not value, NUMA_BALANCING.value(part))
    NUMA_BALANCING.restore(part, before)
    assert NUMA_BALANCING.value(part) == 2.0


def test_a_machine_without_a_setting_has_no_state(tmp_path):
    assert NUMA_BALANCING.read(tmp_path) == {}
    assert CAPS["cpu_max_mhz"].read(tmp_path) == {}


def test_a_cap_is_in_its_unit_and_has_the_range_of_all_parts(tmp_path):
    packages(tmp_path)
    clock = CAPS["cpu_max_mhz"]
    assert clock.range(tmp_path) == (800.0, 3800.0)
    part = next(iter(clock.read(tmp_path)))
    clock.apply(part, 2000.0)
    assert clock.value(part) == 2000.0
    assert clock.holds(2000.0, 1901.0)
    assert not clock.holds(2000.0, 1899.0)


def test_the_clock_of_a_gpu_holds_below_its_limit():
    assert CAPS["gpu_max_mhz"].holds(1200.0, 300.0)
    assert not CAPS["gpu_max_mhz"].holds(1200.0, 1301.0)
