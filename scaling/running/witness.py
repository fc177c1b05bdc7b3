"""What else happened while steps were timed: threads, CPUs visited, waiting, steal, pressure and clocks.

Read without privileges, in the worker itself, outside the timed steps. What the machine does not report is None.
Processes that the workload has started and that are still alive count as its own, with their threads.
Imports nothing heavy: the worker pays for it at every start.
"""

import os
import resource
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from scaling.machine import cgroups
from scaling.machine.cpulist import CpuSet, format_list, parse_list
from scaling.running.counters import HardwareCounters

ROOT = Path("/")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

# Which of a process's clocks counts its CPU time to the nanosecond: CPUCLOCK_SCHED in <linux/posix-timers.h>.
SCHEDULER_CLOCK = 2

# A thread counts as busy from this share of the busiest thread's CPU time: pools keep helpers that only wake up.
BUSY_SHARE = 0.05

# Looking at every thread costs tens of microseconds each; this keeps it far below one percent of the time.
SECONDS_BETWEEN_LOOKS = 0.1


class Reading(NamedTuple):
    """Counters at one moment; a witness is the difference of two."""

    cpu_seconds: float
    waits: dict[int, tuple[int, int]]
    involuntary_switches: int
    voluntary_switches: int
    clock_seconds: float
    busy_ticks: int | None
    unused_ticks: int | None
    sibling_busy_ticks: int | None
    elsewhere_busy_ticks: int | None
    steal_ticks: int | None
    pressure_microseconds: int | None
    throttled_periods: int | None
    quota_periods: int | None
    instructions: int | None
    cycles: int | None


class Visits:
    """Which CPUs each thread was last seen on, looked at now and then between steps.

    Of the processes of the workload, those that were there before the steps are looked at.
    """

    def __init__(self) -> None:
        self.cpus: dict[int, set[int]] = {}
        self.processes = processes_below(os.getpid())
        self.next_look = 0.0

    def look(self) -> None:
        """Note where every thread is, unless it was only just done."""
        now = time.perf_counter()
        if now >= self.next_look:
            self.next_look = now + SECONDS_BETWEEN_LOOKS
            for thread, folder in threads_of(self.processes):
                cpu = last_cpu(folder)
                if cpu is not None:
                    self.cpus.setdefault(thread, set()).add(cpu)


def last_cpu(folder: str) -> int | None:
    """The CPU that a thread or a process was last on, from its folder; None once it is gone."""
    stat = _text(f"{folder}/stat")
    return int(stat.rpartition(")")[2].split()[36]) if stat else None


def read(cpus: CpuSet, siblings: CpuSet, hardware: HardwareCounters, beside: CpuSet = frozenset()) -> Reading:
    """The counters now; CPUs that are used beside these by the same run count as nobody's."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)  # those that have ended and were waited for
    processes = processes_below(os.getpid())
    return Reading(
        cpu_seconds=own.ru_utime
        + own.ru_stime
        + children.ru_utime
        + children.ru_stime
        + sum(map(_cpu_seconds, processes[1:])),
        waits=_waits(processes),
        involuntary_switches=own.ru_nivcsw + children.ru_nivcsw,
        voluntary_switches=own.ru_nvcsw + children.ru_nvcsw,
        **_processor_ticks(cpus, siblings, beside),
        pressure_microseconds=_pressure(),
        throttled_periods=cgroups.throttled_periods(ROOT),
        quota_periods=cgroups.quota_periods(ROOT),
        instructions=hardware.instructions.read(),
        cycles=hardware.cycles.read(),
    )


def witness(
    before: Reading, after: Reading, visits: Visits, cpus: CpuSet, pipeline: Collection[int] = ()
) -> dict[str, Any]:
    """What happened between two readings, under the names a row has; of a pipeline's threads by their numbers."""
    used = {thread: ran - before.waits.get(thread, (0, 0))[0] for thread, (ran, _) in after.waits.items()}
    busiest = max(used.values(), default=0)
    busy = [thread for thread, ran in used.items() if ran > 0 and ran >= BUSY_SHARE * busiest]
    waited = sum(wait - before.waits.get(thread, (0, 0))[1] for thread, (_, wait) in after.waits.items())
    visited = set().union(*(visits.cpus.get(thread, set()) for thread in busy))
    return {
        "threads": len(after.waits),
        "busy_threads": len(busy),
        "cpus_visited": format_list(visited),
        "cpu_seconds": after.cpu_seconds - before.cpu_seconds,
        "pipeline_cpu_seconds": sum(used.get(thread, 0) for thread in pipeline) / 1e9 if pipeline and used else None,
        "run_queue_wait_seconds": waited / 1e9,
        "busy_seconds": _busy_seconds(before, after, len(cpus)),
        "sibling_busy_seconds": _tick_seconds(before.sibling_busy_ticks, after.sibling_busy_ticks),
        "elsewhere_busy_seconds": _tick_seconds(before.elsewhere_busy_ticks, after.elsewhere_busy_ticks),
        "steal_seconds": _tick_seconds(before.steal_ticks, after.steal_ticks),
        "pressure_seconds": _both(before.pressure_microseconds, after.pressure_microseconds, 1e-6),
        "throttled_periods": _both(before.throttled_periods, after.throttled_periods, 1),
        "quota_periods": _both(before.quota_periods, after.quota_periods, 1),
        "involuntary_switches": after.involuntary_switches - before.involuntary_switches,
        "voluntary_switches": after.voluntary_switches - before.voluntary_switches,
        "mhz": _mhz(cpus),
        "temperature_celsius": _temperature(),
        "instructions": _both(before.instructions, after.instructions, 1),
        "cycles": _both(before.cycles, after.cycles, 1),
    }


# Of several stretches of a run these are not summed: the most threads, the highest temperature, the mean clock.
HIGHEST = ("threads", "busy_threads", "temperature_celsius")
MEAN = ("mhz",)
VISITED = "cpus_visited"


def total(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What happened in several stretches of a run together, under the names a row has; unknown in one is unknown."""
    return {name: _total_of(name, [part[name] for part in parts]) for name in (parts[0] if parts else {})}


def _total_of(name: str, values: Sequence[Any]) -> Any:
    if name == VISITED:
        return format_list(frozenset().union(*map(parse_list, values)))
    if any(value is None for value in values):
        return None
    if name in HIGHEST:
        return max(values)
    return sum(values) / len(values) if name in MEAN else sum(values)


def memory_policy() -> str | None:
    """The policy this process was started with ('default', 'bind:0', …); None without NUMA support."""
    try:
        with open("/proc/self/numa_maps") as maps:
            # The rest of it takes the kernel milliseconds to count where a framework has been loaded.
            return maps.readline().split(maxsplit=2)[1]
    except (OSError, IndexError):
        return None


def memory_bytes() -> dict[str, int | None]:
    """The most memory this process, or a program it started, has had at once; and how much of it is mapped files.

    Mapped files are the code of libraries: shared with others, and more or less of it as the page cache has it.
    Not ru_maxrss for ourselves: over an exec that keeps the size of the parent we were forked from.
    """
    status = dict(line.split(":", 1) for line in (_text("/proc/self/status") or "").splitlines())
    own, mapped = (1024 * int(status[name].split()[0]) if name in status else None for name in ("VmHWM", "RssFile"))
    children = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"max_rss_bytes": max(own or 0, children), "mapped_file_bytes": mapped}


def processes_below(root: int) -> list[int]:
    """A process and all that descend from it; that one alone where the kernel keeps no lists of children."""
    processes = [root]
    for process in processes:  # grows as it goes
        for _, folder in threads_of([process]):
            processes += map(int, (_text(f"{folder}/children") or "").split())
    return processes


def threads_of(processes: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Every thread of some processes, with its folder; a process that has ended has none."""
    for process in processes:
        with suppress(OSError):
            yield from ((int(name), f"/proc/{process}/task/{name}") for name in os.listdir(f"/proc/{process}/task"))


def _waits(processes: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Nanoseconds every thread has run, and has waited for a CPU."""
    waits = {}
    for thread, folder in threads_of(processes):
        text = _text(f"{folder}/schedstat")
        if text:
            ran, waited, _ = text.split()
            waits[thread] = (int(ran), int(waited))
    return waits


def _cpu_seconds(process: int) -> float:
    """The CPU time of another process by its clock, which has that of threads that have ended too."""
    try:
        return time.clock_gettime(~process << 3 | SCHEDULER_CLOCK)  # as clock_getcpuclockid(3) makes it
    except OSError:
        return 0.0


def _busy_seconds(before: Reading, after: Reading, cpus: int) -> float | None:
    """How long so many CPUs were busy between two readings, by anybody.

    A tick counts whoever runs at that moment as busy for all of it, and CPUs that work and pause together are all seen
    at work, or all at rest. Of a CPU at rest most kernels clock the pauses, so that there is no more than what is left.
    """
    seen = _tick_seconds(before.busy_ticks, after.busy_ticks)
    unused = _tick_seconds(before.unused_ticks, after.unused_ticks)
    if seen is None or unused is None:
        return seen
    return min(seen, max(0.0, cpus * (after.clock_seconds - before.clock_seconds) - unused))


def _processor_ticks(cpus: CpuSet, siblings: CpuSet, beside: CpuSet) -> dict[str, Any]:
    """Ticks the point's CPUs, their idle siblings and all others were busy, by anybody, were stolen or at rest."""
    busy = unused = sibling_busy = elsewhere = stolen = 0
    known = cpus | siblings | beside
    text, now = _text("/proc/stat"), time.perf_counter()
    if text is None:
        names = ("busy_ticks", "unused_ticks", "sibling_busy_ticks", "elsewhere_busy_ticks", "steal_ticks")
        return {"clock_seconds": now, **dict.fromkeys(names)}
    for line in text.splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            cpu = int(name[3:])
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, ticks[:8])
            ran = user + nice + system + irq + softirq
            busy += ran * (cpu in cpus)
            unused += (idle + iowait + steal) * (cpu in cpus)
            sibling_busy += ran * (cpu in siblings)
            elsewhere += ran * (cpu not in known)
            stolen += steal * (cpu in cpus)
    return {
        "clock_seconds": now,
        "busy_ticks": busy,
        "unused_ticks": unused,
        "sibling_busy_ticks": sibling_busy if siblings else None,
        "elsewhere_busy_ticks": elsewhere,
        "steal_ticks": stolen,
    }


def _pressure() -> int | None:
    """Microseconds in which somebody on the machine waited for a CPU."""
    text = _text("/proc/pressure/cpu")
    return int(text.splitlines()[0].rpartition("total=")[2]) if text else None


def _mhz(cpus: CpuSet) -> float | None:
    """The mean clock the point's CPUs are running at; None where none is measured, as in most virtual machines."""
    clocks = [_number(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in cpus]
    total = _sum(clocks)
    return None if total is None else total / len(clocks) / 1000


def _temperature() -> float | None:
    """The hottest processor sensor."""
    zones = [
        _number(str(zone / "temp"))
        for zone in _glob("/sys/class/thermal", "thermal_zone*")
        if any(word in (_text(str(zone / "type")) or "").lower() for word in ("cpu", "pkg", "core", "soc"))
    ]
    known = [zone for zone in zones if zone is not None]
    return max(known) / 1000 if known else None


def _tick_seconds(before: int | None, after: int | None) -> float | None:
    return _both(before, after, 1 / TICKS_PER_SECOND)


def _both(before: int | None, after: int | None, unit: float) -> float | None:
    """The difference in a unit; None where either is unknown or the counter began anew."""
    if before is None or after is None or after < before:
        return None
    return (after - before) * unit


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _glob(folder: str, pattern: str) -> Iterable[Path]:
    return sorted(Path(folder).glob(pattern))


def _number(path: str) -> int | None:
    text = _text(path)
    return int(text) if text and text.strip().lstrip("-").isdecimal() else None


def _text(path: str) -> str | None:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None
