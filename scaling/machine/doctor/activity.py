"""What goes on in a machine that would spoil a measurement: others' work, waiting, swapping, interrupts, heat. Pure.

A function a subject, from values to a finding. All thresholds stand at the top, each with its reason.
"""

from scaling.machine.cpulist import CpuSet, format_list
from scaling.machine.doctor import subjects
from scaling.machine.doctor.counters import Activity, Span
from scaling.machine.doctor.findings import Finding, Subject
from scaling.machine.doctor.vitals import Memory, Pressure, Sensor
from scaling.machine.topology import Topology

# In tasks. One that always ran took a core from every point that used all of them; a quarter of one is more than the
# housekeeping of an idle system, and what moved two-thread steps visibly.
LOAD_CAUTION, LOAD_SPOILS = 0.25, 1.0

# Shares of one CPU's time. Idle systems stay below five percent on every CPU; a quarter gone is a third more time.
BUSY_CAUTION, BUSY_SPOILS = 0.05, 0.25

# Shares of all allowed CPUs' time. One percent is the precision a launch is measured to by default.
STEAL_CAUTION, STEAL_SPOILS = 0.01, 0.05

# Shares of ten seconds. Below one percent is an idle system again; from ten on a run is among those that wait.
PRESSURE_CAUTION, PRESSURE_SPOILS = 0.01, 0.10

# Device interrupts a second on one CPU. Each costs some five microseconds: half a percent of it, and five percent.
INTERRUPTS_CAUTION, INTERRUPTS_SPOILS = 1_000, 10_000

# Degrees below the limit. A package warms by ten or more from idle to all cores; within five it is throttling already.
HEADROOM_CAUTION, HEADROOM_SPOILS = 15, 5

# The lowest limit in common use, for thermometers that do not tell theirs.
LIMIT_CELSIUS = 95

# Pages a second. None move on a system whose memory suffices.
SWAPPING = 1

# The share of memory below which the kernel soon has to swap to serve a run.
LITTLE_MEMORY = 0.10


def load(tasks: float | None) -> Finding:
    """The tasks that ran or waited over the last minute."""
    if tasks is None:
        return subjects.LOAD.not_available("no /proc/loadavg")
    value = f"{tasks:.2f} tasks running or waiting over the last minute"
    return subjects.LOAD.graded(tasks, LOAD_CAUTION, LOAD_SPOILS, value)


def busy_cpus(machine: Topology, lately: Span) -> Finding:
    """The CPUs that runs are put on first: one of each core."""
    return _busy(subjects.BUSY_CPUS, lately, _first_threads(machine))


def busy_siblings(machine: Topology, lately: Span) -> Finding:
    """The other hardware threads of the cores that runs are put on, whether or not they are ours to use."""
    first = _first_threads(machine)
    core_of = machine.core_of()
    siblings = frozenset(cpu for each in first for cpu in core_of[each]) - first
    if not siblings:
        return subjects.BUSY_SIBLINGS.ok("none: one thread a core")
    return _busy(subjects.BUSY_SIBLINGS, lately, siblings)


def _first_threads(machine: Topology) -> CpuSet:
    ours = (machine.allowed.intersection(core) for core in machine.cores)
    return frozenset(min(cpus) for cpus in ours if cpus)


def _busy(subject: Subject, lately: Span, cpus: CpuSet) -> Finding:
    activity = lately.on(cpus)
    if not activity:
        return subject.not_available("no ticks of these CPUs in /proc/stat")
    most = max(each.busy for each in activity)
    busy = format_list(each.cpu for each in activity if each.busy >= BUSY_CAUTION)
    value = f"{f'CPU {busy}, up to' if busy else 'none, at most'} {_percent(most)} {lately.words}"
    return subject.graded(most, BUSY_CAUTION, BUSY_SPOILS, value)


def pressure(waiting: Pressure) -> Finding:
    """How much of the last ten seconds tasks waited for CPUs or memory."""
    known = {"CPUs": waiting.cpu, "memory": waiting.memory}
    shares = {what: share for what, share in known.items() if share is not None}
    if not shares:
        return subjects.PRESSURE.not_available("no /proc/pressure")
    waits = ", ".join(f"for {what} {_percent(share)}" for what, share in shares.items())
    value = f"waiting {waits} of the last ten seconds"
    return subjects.PRESSURE.graded(max(shares.values()), PRESSURE_CAUTION, PRESSURE_SPOILS, value)


def steal(allowed: CpuSet, lately: Span, since_boot: Span) -> Finding:
    """What the hypervisor took of the allowed CPUs; a habit of it is a caution, even while it is quiet."""
    now, ever = _stolen(lately.on(allowed)), _stolen(since_boot.on(allowed))
    if now is None or ever is None:
        return subjects.STEAL.not_available("no ticks of the allowed CPUs in /proc/stat")
    told = {lately.words: now, since_boot.words: ever}
    value = ", ".join(f"{_percent(share)} {words}" for words, share in told.items())
    if ever >= STEAL_CAUTION > now:
        return subjects.STEAL.caution(value)
    return subjects.STEAL.graded(now, STEAL_CAUTION, STEAL_SPOILS, value)


def _stolen(activity: tuple[Activity, ...]) -> float | None:
    return sum(each.stolen for each in activity) / len(activity) if activity else None


def swap(memory: Memory | None, lately: Span) -> Finding:
    """Whether pages move to and fro, or soon will."""
    if memory is None:
        return subjects.SWAP.not_available("no /proc/meminfo")
    if memory.swap_total_bytes == 0:
        return subjects.SWAP.ok("no swap space")
    moving = lately.swapped_pages_per_second or 0
    value = f"{_gib(memory.swap_used_bytes)} of {_gib(memory.swap_total_bytes)} in use"
    if moving >= SWAPPING:
        return subjects.SWAP.spoiler(f"{value}, {moving:.0f} pages a second moving {lately.words}")
    if memory.available_bytes is not None and memory.available_bytes < LITTLE_MEMORY * memory.total_bytes:
        left = f"{_gib(memory.available_bytes)} of {_gib(memory.total_bytes)} memory left"
        return subjects.SWAP.spoiler(f"{value}, {left}")
    return subjects.SWAP.caution(value) if memory.swap_used_bytes else subjects.SWAP.ok(value)


def interrupts(allowed: CpuSet, lately: Span) -> Finding:
    """How often devices interrupt the allowed CPU they interrupt most."""
    rates = [each for each in lately.interrupts if each.cpu in allowed]
    if not rates:
        return subjects.INTERRUPTS.not_available("no counts of the allowed CPUs in /proc/interrupts")
    worst = max(rates, key=lambda each: each.per_second)
    value = f"at most {worst.per_second:.0f} a second, on CPU {worst.cpu}, {lately.words}"
    return subjects.INTERRUPTS.graded(worst.per_second, INTERRUPTS_CAUTION, INTERRUPTS_SPOILS, value)


def temperature(sensors: tuple[Sensor, ...]) -> Finding:
    """How far the processor is from slowing itself down."""
    if not sensors:
        return subjects.TEMPERATURE.not_available("no thermometer of a processor below /sys/class")
    nearest = min(sensors, key=_headroom)
    limit = nearest.limit_celsius
    beside = f"slows down at {limit:.0f} °C" if limit else f"limit not told, {LIMIT_CELSIUS} °C taken for it"
    value = f"{nearest.celsius:.0f} °C ({nearest.name}, {beside})"
    return subjects.TEMPERATURE.graded(-_headroom(nearest), -HEADROOM_CAUTION, -HEADROOM_SPOILS, value)


def _headroom(sensor: Sensor) -> float:
    return (sensor.limit_celsius or LIMIT_CELSIUS) - sensor.celsius


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
