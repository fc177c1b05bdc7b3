from dataclasses import replace

import pytest

from scaling.machine.cpulist import parse_list
from scaling.machine.doctor import activity
from scaling.machine.doctor.counters import Activity, InterruptRate, Span
from scaling.machine.doctor.vitals import Memory, Pressure, Sensor
from tests.scaling.machine.doctor.examined import WHOLE, Fault, examine, interrupts, stat
from tests.scaling.machine.invented import GB10, told, write

GIB = 2**30
QUIET = Span("just now")
EIGHT = parse_list("0-7")


def busy(*cpus: int, share: float = 0.9, stolen: float = 0.0) -> Span:
    """Some of eight CPUs busy, the others idle."""
    return Span("just now", tuple(Activity(cpu, share if cpu in cpus else 0.0, stolen) for cpu in range(8)))


@pytest.mark.parametrize(
    ("tasks", "state"), [(0.0, "ok"), (0.24, "ok"), (0.25, "caution"), (1.0, "spoiler"), (None, "not available")]
)
def test_a_task_that_always_runs_spoils(tasks, state):
    assert activity.load(tasks).state == state


@pytest.mark.parametrize(("share", "state"), [(0.04, "ok"), (0.05, "caution"), (0.25, "spoiler")])
def test_a_busy_cpu_is_graded_by_its_share(share, state):
    found = activity.busy_cpus(told(WHOLE), busy(2, share=share))
    assert (found.state, "CPU 2, up to" in found.value) == (state, state != "ok")


def test_a_busy_second_thread_is_a_busy_sibling_and_a_busy_first_one_is_not():
    machine = told(WHOLE)
    assert (activity.busy_cpus(machine, busy(6)).state, activity.busy_siblings(machine, busy(6)).state) == (
        "ok",
        "spoiler",
    )
    assert (activity.busy_cpus(machine, busy(2)).state, activity.busy_siblings(machine, busy(2)).state) == (
        "spoiler",
        "ok",
    )


def test_a_busy_sibling_outside_our_mask_is_seen():
    machine = told(replace(WHOLE, allowed=parse_list("0-3")))
    assert activity.busy_siblings(machine, busy(5)).value.startswith("CPU 5, up to 90.0 %")


def test_a_busy_core_that_is_not_ours_is_none_of_our_business():
    machine = told(replace(WHOLE, allowed=parse_list("0,4")))
    assert {activity.busy_cpus(machine, busy(1, 5)).state, activity.busy_siblings(machine, busy(1, 5)).state} == {"ok"}


def test_cores_of_one_thread_have_no_siblings():
    assert activity.busy_siblings(told(GB10), QUIET).state == "ok"


@pytest.mark.parametrize("look", [activity.busy_cpus, activity.busy_siblings])
def test_without_ticks_nobody_is_known_to_be_busy(look):
    assert look(told(WHOLE), QUIET).state == "not available"


@pytest.mark.parametrize(
    ("cpu", "memory", "state"),
    [
        (0.0, 0.0, "ok"),
        (0.02, 0.0, "caution"),
        (0.0, 0.2, "spoiler"),
        (0.5, None, "spoiler"),
        (None, None, "not available"),
    ],
)
def test_pressure_is_graded_by_the_worse_of_cpu_and_memory(cpu, memory, state):
    assert activity.pressure(Pressure(cpu, memory)).state == state


@pytest.mark.parametrize(
    ("now", "ever", "state"),
    [(0.0, 0.0, "ok"), (0.0, 0.02, "caution"), (0.02, 0.0, "caution"), (0.06, 0.0, "spoiler"), (0.06, 0.06, "spoiler")],
)
def test_steal_counts_now_and_as_a_habit(now, ever, state):
    assert activity.steal(EIGHT, busy(stolen=now), replace(busy(stolen=ever), words="since boot")).state == state


@pytest.mark.parametrize(
    ("available", "total", "used", "moving", "state"),
    [
        (60, 0, 0, None, "ok"),
        (60, 8, 0, 0.0, "ok"),
        (2, 0, 0, None, "ok"),
        (60, 8, 1, 0.0, "caution"),
        (60, 8, 1, None, "caution"),
        (60, 8, 1, 200.0, "spoiler"),
        (60, 8, 0, 200.0, "spoiler"),
        (2, 8, 1, 0.0, "spoiler"),
    ],
)
def test_swap_spoils_where_pages_move_or_soon_will(available, total, used, moving, state):
    memory = Memory(64 * GIB, available * GIB, total * GIB, used * GIB)
    assert activity.swap(memory, replace(QUIET, swapped_pages_per_second=moving)).state == state


def test_memory_that_is_not_told_is_not_available():
    assert activity.swap(None, QUIET).state == "not available"


@pytest.mark.parametrize(("rate", "state"), [(10, "ok"), (1_000, "caution"), (10_000, "spoiler")])
def test_interrupts_are_graded_by_the_cpu_that_serves_most(rate, state):
    lately = replace(QUIET, interrupts=(InterruptRate(0, 5.0), InterruptRate(3, rate), InterruptRate(9, 1e6)))
    found = activity.interrupts(EIGHT, lately)
    assert (found.state, found.value) == (state, f"at most {rate} a second, on CPU 3, just now")


@pytest.mark.parametrize(
    ("sensors", "state"),
    [
        ((), "not available"),
        ((Sensor("coretemp", 40, 100),), "ok"),
        ((Sensor("coretemp", 40, 100), Sensor("coretemp", 86, 100)), "caution"),
        ((Sensor("cpu-thermal", 96, 100),), "spoiler"),
        ((Sensor("k10temp", 60),), "ok"),
        ((Sensor("k10temp", 91),), "spoiler"),
    ],
)
def test_temperature_is_graded_by_the_sensor_nearest_its_limit(sensors, state):
    assert activity.temperature(sensors).state == state


def test_work_that_ended_before_we_look_no_longer_counts():
    hour_of_work = stat({2: 0.9, 6: 0.9})
    later = {"proc/stat": _one_second_later(hour_of_work)}
    found = examine(Fault("", texts={"proc/stat": hour_of_work}), lambda root: write(root, later))
    assert {found["busy CPUs"].state, found["busy siblings"].state} == {"ok"}


def test_work_on_a_sibling_that_begins_as_we_look_is_seen():
    later = {"proc/stat": _one_second_later(stat({}), working=6)}
    found = examine(Fault(""), lambda root: write(root, later))
    assert (found["busy CPUs"].state, found["busy siblings"].state) == ("ok", "spoiler")
    assert found["busy siblings"].value == "CPU 6, up to 100.0 % just now"


def test_a_storm_of_interrupts_that_begins_as_we_look_is_seen():
    later = {"proc/interrupts": interrupts({1: 50_000}, seconds=3601), "proc/uptime": "3601.00 7000.00"}
    found = examine(Fault(""), lambda root: write(root, later))
    assert (found["interrupts"].state, "on CPU 1" in found["interrupts"].value) == ("spoiler", True)


def test_pages_that_move_as_we_look_are_seen():
    later = {"proc/vmstat": "pswpin 500\npswpout 512\n", "proc/uptime": "3601.00 7000.00"}
    assert examine(Fault(""), lambda root: write(root, later))["swap"].state == "spoiler"


def _one_second_later(text: str, working: int | None = None) -> str:
    """The same counters after a hundred more ticks, idle ones but on the CPU that works."""
    lines = []
    for line in text.splitlines():
        name, *ticks = line.split()
        if name[3:].isdecimal():
            place = 0 if int(name[3:]) == working else 3
            ticks[place] = str(int(ticks[place]) + 100)
        lines.append(" ".join([name, *ticks]))
    return "\n".join(lines)
