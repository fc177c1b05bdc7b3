"""Observations beside the timed steps: threads, CPUs visited, waiting, steal, pressure and clocks.

The worker reads them outside the timed steps; values that the machine does not report are None. Live processes that the
workload has started count as its own. The processes of a program are gone when it has ended, so the sweep's process
samples them (`ProcessTree`). Imports nothing heavy: the worker pays for it at every start.
"""

import os
import resource
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from scaling.analysis.witness import Witness
from scaling.machine.kernel_files import bandwidth_count, named_lines, read_number
from scaling.machine.topology import CpuSet, format_list, parse_list
from scaling.running.system_calls import Counter

ROOT = Path("/")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
TICK = 1 / TICKS_PER_SECOND

# The clock of a process that counts its CPU time to the nanosecond: CPUCLOCK_SCHED in <linux/posix-timers.h>.
SCHEDULER_CLOCK = 2

# A thread counts as busy from this share of the busiest thread's CPU time: pools keep helpers that only wake up.
BUSY_SHARE = 0.05

# A look at a thread takes tens of microseconds; this interval keeps looks far below one percent of the time. The
# sweep's process looks at programs even less often if a look takes long, since it may run on measured CPUs.
SECONDS_BETWEEN_LOOKS = 0.1
LOOKING_SHARE = 0.01

# The units of counters that a witness reports as differences, under its names for them.
UNITS = {
    **dict.fromkeys(("sibling_busy_seconds", "elsewhere_busy_seconds", "steal_seconds"), TICK),
    "pressure_seconds": 1e-6,
    **dict.fromkeys(("throttled_periods", "quota_periods", "involuntary_switches", "voluntary_switches"), 1),
    **dict.fromkeys(("instructions", "cycles"), 1),
}

# Parts of a witness that every turn has too, under the turn's names.
OF_TURNS = {
    "cpu_seconds": "cpu_seconds",
    "busy_seconds": "busy_seconds",
    "steal_seconds": "steal_seconds",
    "run_queue_wait_seconds": "wait_seconds",
    "sibling_busy_seconds": "sibling_seconds",
    "elsewhere_busy_seconds": "elsewhere_seconds",
}


class Reading(NamedTuple):
    """Counters at one moment, `counts` by their names in UNITS; a witness is the difference of two readings."""

    cpu_seconds: float
    waits: dict[int, tuple[int, int]]
    clock_seconds: float
    busy_ticks: int | None
    unused_ticks: int | None
    counts: dict[str, int | None]


class Visits:
    """The CPUs on which each thread was seen, sampled between steps, in processes that existed before the steps."""

    def __init__(self) -> None:
        self.cpus: dict[int, set[int]] = {}
        self.processes = processes_below(os.getpid())
        self.next_look = 0.0

    def look(self) -> None:
        """Record the CPU of every thread, unless the last look was just now."""
        now = time.perf_counter()
        if now >= self.next_look:
            self.next_look = now + SECONDS_BETWEEN_LOOKS
            for thread, folder in threads_of(self.processes):
                cpu = _last_cpu(folder)
                if cpu is not None:
                    self.cpus.setdefault(thread, set()).add(cpu)


class ProcessTree:
    """The most threads and bytes below a process, and its CPUs, without processes on CPUs `beside` the run's."""

    def __init__(self, beside: CpuSet = frozenset()) -> None:
        self.beside = beside
        self.threads = 0
        self.memory_bytes = 0
        self.cpus: set[int] = set()
        self._next_look = 0.0

    def look(self, root: int) -> float:
        """Look at the processes below this one, unless the last look was just now; returns seconds to the next."""
        start = time.monotonic()
        if start >= self._next_look:
            threads = list(threads_of(filter(self._is_measured, processes_below(root)[1:])))
            self.threads = max(self.threads, len(threads))
            processes = {folder.split("/")[2] for _, folder in threads}
            self.memory_bytes = max(self.memory_bytes, sum(map(_resident_bytes, processes)))
            self.cpus |= {cpu for _, folder in threads if (cpu := _last_cpu(folder)) is not None}
            now = time.monotonic()
            self._next_look = now + max(SECONDS_BETWEEN_LOOKS, (now - start) / LOOKING_SHARE)
        return self._next_look - time.monotonic()

    def _is_measured(self, process: int) -> bool:
        with suppress(OSError):
            return not self.beside or not os.sched_getaffinity(process) <= self.beside
        return False

    def add_to(self, witness: Witness) -> Witness:
        """A run's witness with these observations; unchanged if the program ended before the first look."""
        if not self.threads:
            return witness
        return replace(
            witness,
            threads=self.threads,
            max_rss_bytes=max(witness.max_rss_bytes or 0, self.memory_bytes),
            cpus_visited=format_list(self.cpus | parse_list(witness.cpus_visited or "")),
        )


def _last_cpu(folder: str) -> int | None:
    stat = _text(f"{folder}/stat")
    return int(stat.rpartition(")")[2].split()[36]) if stat else None


def _resident_bytes(process: str) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES
    return 0


def read(cpus: CpuSet, siblings: CpuSet, hardware: Mapping[str, Counter], beside: CpuSet = frozenset()) -> Reading:
    """The counters now; CPUs `beside` these belong to the same run and count as neither its own nor other load."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)  # children that have ended and were waited for
    processes = processes_below(os.getpid())
    waits = _waits(processes)
    stat, now = _text("/proc/stat") or "", time.perf_counter()
    ticks = _processor_ticks(stat)
    pressure = _text("/proc/pressure/cpu")  # microseconds in which any process waited for a CPU
    return Reading(
        cpu_seconds=own.ru_utime
        + own.ru_stime
        + children.ru_utime
        + children.ru_stime
        + sum(map(process_cpu_seconds, processes[1:])),
        waits=waits,
        clock_seconds=now,
        busy_ticks=_sum(ticks, "busy", cpus),
        unused_ticks=_sum(ticks, "unused", cpus),
        counts={
            "sibling_busy_seconds": _sum(ticks, "busy", siblings) if siblings else None,
            "elsewhere_busy_seconds": _sum(ticks, "busy", ticks.keys() - cpus - siblings - beside),
            "steal_seconds": _sum(ticks, "steal", cpus),
            "pressure_seconds": int(pressure.splitlines()[0].rpartition("total=")[2]) if pressure else None,
            "throttled_periods": bandwidth_count(ROOT, "nr_throttled"),
            "quota_periods": bandwidth_count(ROOT, "nr_periods"),
            "involuntary_switches": own.ru_nivcsw + children.ru_nivcsw,
            "voluntary_switches": own.ru_nvcsw + children.ru_nvcsw,
            **{name: counter.read() for name, counter in hardware.items()},
        },
    )


def witness(
    before: Reading, after: Reading, visits: Visits, cpus: CpuSet, pipeline: Collection[int] = ()
) -> dict[str, Any]:
    """The changes between two readings, under a row's names; `pipeline` are the threads of the input pipeline."""
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
        "mhz": _mhz(cpus),
        "temperature_celsius": _temperature(),
        **{name: _difference(before.counts[name], after.counts[name], unit) for name, unit in UNITS.items()},
    }


# How a part of a witness becomes one for several stretches of a run; other parts are summed.
OF_STRETCHES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "cpus_visited": lambda lists: format_list(union(lists)),
    "output": max,
    "output_held_by": lambda names: ", ".join(dict.fromkeys(filter(None, names))),
    "mhz": lambda clocks: sum(clocks) / len(clocks),
    **dict.fromkeys(("threads", "busy_threads", "temperature_celsius", "max_rss_bytes", "mapped_file_bytes"), max),
}


def total(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The witness of several stretches of a run together; a value that is unknown in one stretch is unknown."""
    names = parts[0] if parts else ()
    return {name: known(OF_STRETCHES.get(name, sum), [part[name] for part in parts]) for name in names}


def known(combine: Callable[[Sequence[Any]], Any], values: Sequence[Any]) -> Any:
    """Combined values; None if one of them is unknown."""
    return None if any(value is None for value in values) else combine(values)


def union(lists: Iterable[str]) -> CpuSet:
    """The CPUs of several lists."""
    return frozenset().union(*map(parse_list, lists))


def memory_policy() -> str | None:
    """This process's memory policy ('default', 'bind:0', …); None without NUMA support."""
    try:
        with open("/proc/self/numa_maps", errors="replace") as maps:
            # The kernel needs milliseconds to count the other lines once a framework has been loaded.
            return maps.readline().split(maxsplit=2)[1]
    except (OSError, IndexError):
        return None


def memory_bytes() -> dict[str, int | None]:
    """The peak memory of this process or of a program it started, and its part in mapped files, which processes share.

    ru_maxrss would not do for this process: across an exec it keeps the size of the parent that forked it.
    """
    status = named_lines(Path("/proc/self/status"))
    own, mapped = (1024 * int(status[name].split()[0]) if name in status else None for name in ("VmHWM", "RssFile"))
    children = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"max_rss_bytes": max(own or 0, children), "mapped_file_bytes": mapped}


def processes_below(root: int) -> list[int]:
    """A process and all its descendants; only the process itself if the kernel keeps no lists of children."""
    processes = [root]
    for process in processes:  # grows as it goes
        for _, folder in threads_of([process]):
            processes += map(int, (_text(f"{folder}/children") or "").split())
    return processes


def threads_of(processes: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Every thread of the processes, with its folder; processes that have ended are skipped."""
    for process in processes:
        with suppress(OSError):
            yield from ((int(name), f"/proc/{process}/task/{name}") for name in os.listdir(f"/proc/{process}/task"))


def _waits(processes: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Nanoseconds that every thread has run, and has waited for a CPU."""
    waits = {}
    for thread, folder in threads_of(processes):
        text = _text(f"{folder}/schedstat")
        if text:
            ran, waited, _ = text.split()
            waits[thread] = (int(ran), int(waited))
    return waits


def process_cpu_seconds(process: int) -> float:
    """The CPU time of another process by its clock, which includes threads that have ended."""
    try:
        return time.clock_gettime(~process << 3 | SCHEDULER_CLOCK)  # as clock_getcpuclockid(3) makes it
    except OSError:
        return 0.0


def _busy_seconds(before: Reading, after: Reading, cpus: int) -> float | None:
    """The time that this number of CPUs was busy between two readings, with work of any process.

    A tick counts as busy as a whole if a process runs at that moment. Most kernels clock the pauses of an idle CPU
    exactly, which gives an upper limit.
    """
    seen = _difference(before.busy_ticks, after.busy_ticks, TICK)
    unused = _difference(before.unused_ticks, after.unused_ticks, TICK)
    if seen is None or unused is None:
        return seen
    return min(seen, max(0.0, cpus * (after.clock_seconds - before.clock_seconds) - unused))


def _processor_ticks(stat: str) -> dict[int, dict[str, int]]:
    """Ticks that each CPU was busy, unused or stolen so far; empty if the machine does not report them."""
    ticks = {}
    for line in stat.splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu":
            user, nice, system, idle, iowait, irq, softirq, steal = map(int, numbers[:8])
            busy = user + nice + system + irq + softirq
            ticks[int(name[3:])] = {"busy": busy, "unused": idle + iowait + steal, "steal": steal}
    return ticks


def _sum(ticks: Mapping[int, Mapping[str, int]], kind: str, cpus: Iterable[int]) -> int | None:
    return sum(ticks[cpu][kind] for cpu in cpus if cpu in ticks) if ticks else None


def _mhz(cpus: CpuSet) -> float | None:
    """The mean clock of CPUs; None if it is unknown, as in most virtual machines."""
    clocks = [read_number(Path(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")) for cpu in cpus]
    known = [clock for clock in clocks if clock is not None]
    return sum(known) / len(known) / 1000 if known and len(known) == len(clocks) else None


def _temperature() -> float | None:
    zones = [
        read_number(zone / "temp")
        for zone in sorted(Path("/sys/class/thermal").glob("thermal_zone*"))
        if any(word in (_text(f"{zone}/type") or "").lower() for word in ("cpu", "pkg", "core", "soc"))
    ]
    known = [zone for zone in zones if zone is not None]
    return max(known) / 1000 if known else None


def _difference(before: int | None, after: int | None, unit: float) -> float | None:
    """The difference in a unit; None if either value is unknown or the counter was reset."""
    if before is None or after is None or after < before:
        return None
    return (after - before) * unit


def _text(path: str) -> str | None:
    """A file's text; the kernel cuts the names of processes within characters."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return None
