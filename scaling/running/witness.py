"""Observations beside the timed steps: threads, CPUs visited, waiting, steal, pressure and clocks.

The worker reads them outside the timed steps; values that the machine does not report are None. Live processes that the
workload has started count as its own. The processes of a program are gone when it has ended, so the sweep's process
samples them (`ProcessTree`). Imports nothing heavy: the worker pays for it at every start.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from scaling.analysis.witness import Witness
from scaling.machine.topology import CpuSet, format_list, parse_list
from scaling.running.system import SYSTEM, System
from scaling.running.system_calls import Counter

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
TICK = 1 / TICKS_PER_SECOND

# A thread counts as busy from this share of the busiest thread's CPU time: pools keep helpers that only wake up.
BUSY_SHARE = 0.05

# A look at a thread takes tens of microseconds; this interval keeps looks far below one percent of the time. The
# sweep's process looks at programs even less often if a look takes long, since it may run on measured CPUs.
SECONDS_BETWEEN_LOOKS = 0.1
LOOKING_SHARE = 0.01

# Temperatures of parts of the machine, and words in the names of those in the processor.
THERMAL = "/sys/class/thermal"
SENSORS = ("cpu", "pkg", "core", "soc")

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

    def __init__(self, system: System = SYSTEM) -> None:
        self.system = system
        self.cpus: dict[int, set[int]] = {}
        self.processes = processes_below(system.process_id(), system)
        self.next_look = 0.0

    def look(self) -> None:
        """Record the CPU of every thread, unless the last look was just now."""
        now = self.system.now()
        if now >= self.next_look:
            self.next_look = now + SECONDS_BETWEEN_LOOKS
            for thread, folder in threads_of(self.processes, self.system):
                cpu = _last_cpu(folder, self.system)
                if cpu is not None:
                    self.cpus.setdefault(thread, set()).add(cpu)


class ProcessTree:
    """The most threads and bytes below a process, and its CPUs, without processes on CPUs `beside` the run's."""

    def __init__(self, beside: CpuSet = frozenset(), system: System = SYSTEM) -> None:
        self.beside = beside
        self.system = system
        self.threads = 0
        self.memory_bytes = 0
        self.cpus: set[int] = set()
        self._next_look = 0.0

    def look(self, root: int) -> float:
        """Look at the processes below this one, unless the last look was just now; returns seconds to the next."""
        start = self.system.now()
        if start >= self._next_look:
            self._note(root)
            now = self.system.now()
            self._next_look = now + max(SECONDS_BETWEEN_LOOKS, (now - start) / LOOKING_SHARE)
        return self._next_look - self.system.now()

    def _note(self, root: int) -> None:
        measured = list(filter(self._is_measured, processes_below(root, self.system)[1:]))
        threads = list(threads_of(measured, self.system))
        processes = {folder.split("/")[2] for _, folder in threads}
        self.threads = max(self.threads, len(threads))
        self.memory_bytes = max(self.memory_bytes, sum(_resident_bytes(process, self.system) for process in processes))
        cpus = {_last_cpu(folder, self.system) for _, folder in threads}
        self.cpus |= {cpu for cpu in cpus if cpu is not None}

    def _is_measured(self, process: int) -> bool:
        if not self.beside:
            return True
        allowed = self.system.affinity_of(process)
        return allowed is not None and not allowed <= self.beside

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


def _last_cpu(folder: str, system: System) -> int | None:
    stat = system.text(f"{folder}/stat")
    return int(stat.rpartition(")")[2].split()[36]) if stat else None


def _resident_bytes(process: str, system: System) -> int:
    pages = (system.text(f"/proc/{process}/statm") or "").split()
    return int(pages[1]) * PAGE_BYTES if pages else 0


def read(
    cpus: CpuSet,
    siblings: CpuSet,
    hardware: Mapping[str, Counter],
    beside: CpuSet = frozenset(),
    system: System = SYSTEM,
) -> Reading:
    """The counters now; CPUs `beside` these belong to the same run and count as neither its own nor other load."""
    own, children = system.usage(), system.usage_of_children()
    processes = processes_below(system.process_id(), system)
    alive = sum(map(system.cpu_seconds_of, processes[1:]))
    waits = _waits(processes, system)
    stat, now = system.text("/proc/stat") or "", system.now()
    ticks = _processor_ticks(stat)
    pressure = system.text("/proc/pressure/cpu")  # microseconds in which any process waited for a CPU
    return Reading(
        cpu_seconds=own.cpu_seconds + children.cpu_seconds + alive,
        waits=waits,
        clock_seconds=now,
        busy_ticks=_sum(ticks, "busy", cpus),
        unused_ticks=_sum(ticks, "unused", cpus),
        counts={
            "sibling_busy_seconds": _sum(ticks, "busy", siblings) if siblings else None,
            "elsewhere_busy_seconds": _sum(ticks, "busy", ticks.keys() - cpus - siblings - beside),
            "steal_seconds": _sum(ticks, "steal", cpus),
            "pressure_seconds": int(pressure.splitlines()[0].rpartition("total=")[2]) if pressure else None,
            "throttled_periods": system.bandwidth_count("nr_throttled"),
            "quota_periods": system.bandwidth_count("nr_periods"),
            "involuntary_switches": own.involuntary_switches + children.involuntary_switches,
            "voluntary_switches": own.voluntary_switches + children.voluntary_switches,
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
        "mhz": _mhz(cpus, visits.system),
        "temperature_celsius": _temperature(visits.system),
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


def memory_bytes(system: System = SYSTEM) -> dict[str, int | None]:
    """The peak memory of this process or of a program it started, and its part in mapped files, which processes share.

    ru_maxrss would not do for this process: across an exec it keeps the size of the parent that forked it.
    """
    own = status_bytes(system.process_id(), "VmHWM", system)
    children = system.usage_of_children().max_rss_bytes
    mapped = status_bytes(system.process_id(), "RssFile", system)
    return {"max_rss_bytes": max(own or 0, children), "mapped_file_bytes": mapped}


def status_bytes(process: int, name: str, system: System = SYSTEM) -> int | None:
    """A size from a process's status file; None if it has ended, or the kernel does not report it."""
    for line in (system.text(f"/proc/{process}/status") or "").splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return None


def processes_below(root: int, system: System = SYSTEM) -> list[int]:
    """A process and all its descendants; only the process itself if the kernel keeps no lists of children."""
    processes = [root]
    for process in processes:  # grows as it goes
        for _, folder in threads_of([process], system):
            processes += map(int, (system.text(f"{folder}/children") or "").split())
    return processes


def threads_of(processes: Iterable[int], system: System = SYSTEM) -> Iterator[tuple[int, str]]:
    """Every thread of the processes, with its folder; processes that have ended are skipped."""
    for process in processes:
        for name in system.names(f"/proc/{process}/task"):
            yield int(name), f"/proc/{process}/task/{name}"


def _waits(processes: Iterable[int], system: System) -> dict[int, tuple[int, int]]:
    """Nanoseconds that every thread has run, and has waited for a CPU."""
    waits = {}
    for thread, folder in threads_of(processes, system):
        text = system.text(f"{folder}/schedstat")
        if text:
            ran, waited, _ = text.split()
            waits[thread] = (int(ran), int(waited))
    return waits


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


def _mhz(cpus: CpuSet, system: System) -> float | None:
    """The mean clock of CPUs; None if it is unknown, as in most virtual machines."""
    clocks = [_number(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq", system) for cpu in cpus]
    known = [clock for clock in clocks if clock is not None]
    return sum(known) / len(known) / 1000 if known and len(known) == len(clocks) else None


def _temperature(system: System) -> float | None:
    """The temperature of the hottest sensor of a processor."""
    temperatures = []
    for zone in system.names(THERMAL):
        name = (system.text(f"{THERMAL}/{zone}/type") or "").lower()
        if any(word in name for word in SENSORS):
            temperatures.append(_number(f"{THERMAL}/{zone}/temp", system))
    known = [temperature for temperature in temperatures if temperature is not None]
    return max(known) / 1000 if known else None


def _number(path: str, system: System) -> int | None:
    """The integer in a kernel file; None for other content."""
    text = (system.text(path) or "").strip()
    return int(text) if text.removeprefix("-").isdecimal() else None


def _difference(before: int | None, after: int | None, unit: float) -> float | None:
    """The difference in a unit; None if either value is unknown or the counter was reset."""
    if before is None or after is None or after < before:
        return None
    return (after - before) * unit
