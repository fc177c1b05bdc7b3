"""The doctor's checks: a machine's activity, our share of it, and its settings. Pure.

Each subject has a function from readings to a finding.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod

from scaling.errors import count
from scaling.machine.doctor import findings as subjects
from scaling.machine.doctor.findings import Finding, Subject
from scaling.machine.doctor.readings import Activity, Clock, Memory, PowerAccess, Pressure, Sensor, Span, Vitals
from scaling.machine.topology import CpuSet, Topology, format_list

# CPUs or tasks. One task that always runs takes a core from every point that uses all of them; a quarter is more than
# an idle system has, and changed two-thread steps visibly.
LOAD_CAUTION, LOAD_SPOILS = 0.25, 1.0

# Shares of one CPU's time. Idle systems stay below 5 % on every CPU; with a quarter lost, a step takes a third longer.
BUSY_CAUTION, BUSY_SPOILS = 0.05, 0.25

# Shares of all allowed CPUs' time. The default precision of a launch is 1 %.
STEAL_CAUTION, STEAL_SPOILS = 0.01, 0.05

# Shares of ten seconds. An idle system stays below 1 %; from 10 % on, a run waits too.
PRESSURE_CAUTION, PRESSURE_SPOILS = 0.01, 0.10

# Device interrupts per second on one CPU. Each takes about 5 µs, so these are 0.5 % and 5 % of the CPU.
INTERRUPTS_CAUTION, INTERRUPTS_SPOILS = 1_000, 10_000

# Degrees below the limit. A package warms by 10 or more from idle to all cores, and throttles within 5 of the limit.
HEADROOM_CAUTION, HEADROOM_SPOILS = 15, 5

# The lowest common limit, for thermometers that do not report one.
LIMIT_CELSIUS = 95

# Pages per second.
SWAPPING = 1

# The share of memory below which a run soon makes the kernel swap.
LITTLE_MEMORY = 0.10

# With these drivers 'powersave' leaves the clock to the processor, which raises it within milliseconds.
SELF_CLOCKED = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")

# Variables for the number of threads, and for their affinity.
THREAD_COUNTS = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
)
THREAD_HABITS = (
    *("OMP_PROC_BIND", "OMP_PLACES", "OMP_DYNAMIC", "OMP_THREAD_LIMIT", "OMP_WAIT_POLICY", "GOMP_CPU_AFFINITY"),
    *("KMP_AFFINITY", "KMP_HW_SUBSET", "KMP_BLOCKTIME", "MKL_DYNAMIC"),
)
NUMBERS = r" *\d{1,9} *(, *\d{1,9} *)*"


def findings(machine: Topology, vitals: Vitals, variables: Mapping[str, str]) -> tuple[Finding, ...]:
    """The findings on all subjects."""
    settings, recent = vitals.settings, vitals.recent
    return (
        load(machine, recent),
        busy_cpus(machine, recent),
        busy_siblings(machine, recent),
        pressure(vitals.pressure),
        steal(machine.allowed, recent, vitals.since_boot),
        swap(vitals.memory, recent),
        interrupts(machine.allowed, recent),
        temperature(vitals.sensors),
        quota(machine, settings.reports_cgroups, recent),
        cpuset(machine, settings.reports_mask),
        offline(machine, settings.smt_control),
        isolated_cpus(machine, settings.reports_isolated),
        thread_variables(machine.allowed, variables),
        governor(machine.allowed, settings.clocks),
        turbo(settings.turbo),
        smt(machine),
        core_types(machine),
        huge_pages(settings.huge_pages),
        numa_balancing(machine, settings.numa_balancing),
        addresses(settings.address_randomness),
        virtual(settings.virtual),
        energy_meters(vitals.power),
        caps(vitals.power),
    )


# --- activity ---


def load(machine: Topology, recent: Span) -> Finding:
    """The CPUs of runs that were busy, and the tasks that run or wait now, except one for each CPU that is not ours.

    An average over a minute would include our own last sweep.
    """
    shares = recent.on(_first_threads(machine))
    if not shares:
        return subjects.LOAD.not_available("no ticks of the allowed CPUs in /proc/stat")
    busy = sum(cpu.busy for cpu in shares)
    value = f"{busy:.2f} CPUs busy {recent.words}"
    tasks = max(0, (recent.other_tasks or 0) - len(machine.online - machine.allowed))
    if tasks:
        value += f", {count(tasks, 'other task')} running or waiting"
    return subjects.LOAD.grade(max(busy, tasks), LOAD_CAUTION, LOAD_SPOILS, value)


def busy_cpus(machine: Topology, recent: Span) -> Finding:
    """The first CPU of each core, which runs use first."""
    return _busy(subjects.BUSY_CPUS, recent, _first_threads(machine))


def busy_siblings(machine: Topology, recent: Span) -> Finding:
    """The other hardware threads of the cores of runs, allowed or not."""
    first = _first_threads(machine)
    core_of = machine.core_of()
    siblings = frozenset(cpu for thread in first for cpu in core_of[thread]) - first
    if not siblings:
        return subjects.BUSY_SIBLINGS.ok("none: one thread per core")
    return _busy(subjects.BUSY_SIBLINGS, recent, siblings)


def _first_threads(machine: Topology) -> CpuSet:
    ours = (machine.allowed.intersection(core) for core in machine.cores)
    return frozenset(min(cpus) for cpus in ours if cpus)


def _busy(subject: Subject, recent: Span, cpus: CpuSet) -> Finding:
    shares = recent.on(cpus)
    if not shares:
        return subject.not_available("no ticks of these CPUs in /proc/stat")
    most = max(cpu.busy for cpu in shares)
    busy = format_list(cpu.cpu for cpu in shares if cpu.busy >= BUSY_CAUTION)
    value = f"{f'CPU {busy}, up to' if busy else 'none, at most'} {_percent(most)} {recent.words}"
    return subject.grade(most, BUSY_CAUTION, BUSY_SPOILS, value)


def pressure(waiting: Pressure) -> Finding:
    """The shares of the last ten seconds in which tasks waited for CPUs or memory."""
    known = {"CPUs": waiting.cpu, "memory": waiting.memory}
    shares = {resource: share for resource, share in known.items() if share is not None}
    if not shares:
        return subjects.PRESSURE.not_available("no /proc/pressure")
    waits = ", ".join(f"for {resource} {_percent(share)}" for resource, share in shares.items())
    value = f"waiting {waits} of the last ten seconds"
    return subjects.PRESSURE.grade(max(shares.values()), PRESSURE_CAUTION, PRESSURE_SPOILS, value)


def steal(allowed: CpuSet, recent: Span, since_boot: Span) -> Finding:
    """The share of the allowed CPUs that the hypervisor took; past steal is a caution, even without recent steal."""
    now, ever = _stolen(recent.on(allowed)), _stolen(since_boot.on(allowed))
    if now is None or ever is None:
        return subjects.STEAL.not_available("no ticks of the allowed CPUs in /proc/stat")
    shares = {recent.words: now, since_boot.words: ever}
    value = ", ".join(f"{_percent(share)} {words}" for words, share in shares.items())
    if ever >= STEAL_CAUTION > now:
        return subjects.STEAL.caution(value)
    return subjects.STEAL.grade(now, STEAL_CAUTION, STEAL_SPOILS, value)


def _stolen(activity: tuple[Activity, ...]) -> float | None:
    return sum(cpu.stolen for cpu in activity) / len(activity) if activity else None


def swap(memory: Memory | None, recent: Span) -> Finding:
    """Whether pages are swapped, or soon will be."""
    if memory is None:
        return subjects.SWAP.not_available("no /proc/meminfo")
    if memory.swap_total_bytes == 0:
        return subjects.SWAP.ok("no swap space")
    moving = recent.swapped_pages_per_second or 0
    value = f"{_gib(memory.swap_used_bytes)} of {_gib(memory.swap_total_bytes)} in use"
    if moving >= SWAPPING:
        return subjects.SWAP.spoiler(f"{value}, {moving:.0f} pages per second moving {recent.words}")
    if memory.available_bytes is not None and memory.available_bytes < LITTLE_MEMORY * memory.total_bytes:
        left = f"{_gib(memory.available_bytes)} of {_gib(memory.total_bytes)} memory left"
        return subjects.SWAP.spoiler(f"{value}, {left}")
    return subjects.SWAP.caution(value) if memory.swap_used_bytes else subjects.SWAP.ok(value)


def interrupts(allowed: CpuSet, recent: Span) -> Finding:
    """The highest rate of device interrupts on an allowed CPU."""
    rates = {cpu: rate for cpu, rate in recent.interrupts.items() if cpu in allowed}
    if not rates:
        return subjects.INTERRUPTS.not_available("no counts of the allowed CPUs in /proc/interrupts")
    worst = max(rates, key=rates.__getitem__)
    value = f"at most {rates[worst]:.0f} per second, on CPU {worst}, {recent.words}"
    return subjects.INTERRUPTS.grade(rates[worst], INTERRUPTS_CAUTION, INTERRUPTS_SPOILS, value)


def temperature(sensors: tuple[Sensor, ...]) -> Finding:
    """The distance of the processor from its temperature limit."""
    if not sensors:
        return subjects.TEMPERATURE.not_available("no thermometer of a processor below /sys/class")
    nearest = min(sensors, key=_headroom)
    limit = nearest.limit_celsius
    limit_words = f"slows down at {limit:.0f} °C" if limit else f"limit unknown, {LIMIT_CELSIUS} °C assumed"
    value = f"{nearest.celsius:.0f} °C ({nearest.name}, {limit_words})"
    return subjects.TEMPERATURE.grade(-_headroom(nearest), -HEADROOM_CAUTION, -HEADROOM_SPOILS, value)


def _headroom(sensor: Sensor) -> float:
    return (sensor.limit_celsius or LIMIT_CELSIUS) - sensor.celsius


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"


# --- our share of the machine ---


def quota(machine: Topology, reported: bool, recent: Span) -> Finding:
    """The CPU quota of a control group."""
    cpus, allowed = machine.quota_cpus, len(machine.allowed)
    if cpus is None:
        return subjects.QUOTA.ok("none") if reported else subjects.QUOTA.not_available("no /proc/self/cgroup")
    value = f"{cpus:g} CPU{'' if cpus == 1 else 's'} for {count(allowed, 'allowed CPU')}"
    if recent.throttled_periods:
        value += f", used up in {count(recent.throttled_periods, 'period')} {recent.words}"
    return subjects.QUOTA.spoiler(value) if cpus < allowed else subjects.QUOTA.ok(value)


def cpuset(machine: Topology, reported: bool) -> Finding:
    """Online CPUs that are not allowed, except isolated ones, which are a subject of their own."""
    missing = machine.online - machine.allowed - machine.isolated
    if not missing:
        whole = f"all online CPUs, {format_list(machine.allowed)}"
        return subjects.CPUSET.ok(whole) if reported else subjects.CPUSET.not_available("no /proc/self/status")
    value = f"{format_list(machine.allowed)} of {format_list(machine.online)}, without {format_list(missing)}"
    divided = [core for core in machine.cores if missing.intersection(core) and machine.allowed.intersection(core)]
    if divided:
        some = "; ".join(map(format_list, divided[:4])) + ("; …" if len(divided) > 4 else "")
        verb, pronoun = ("has", "its") if len(divided) == 1 else ("have", "their")
        return subjects.CPUSET.spoiler(
            f"{value}; {count(len(divided), 'core')} {verb} only some of {pronoun} hardware threads available: {some}"
        )
    return subjects.CPUSET.caution(value)


def offline(machine: Topology, smt_control: str | None) -> Finding:
    """CPUs that are present but offline, except because SMT is off."""
    missing = machine.present - machine.online
    if not missing:
        return subjects.OFFLINE.ok("none")
    siblings = smt_control in ("off", "forceoff") and machine.widest_smt == 1
    if siblings and len(missing) % len(machine.online) == 0:
        return subjects.OFFLINE.ok(f"{format_list(missing)}, the second threads of cores, with SMT off")
    return subjects.OFFLINE.caution(f"{format_list(missing)} of {format_list(machine.present)}")


def isolated_cpus(machine: Topology, reported: bool) -> Finding:
    """CPUs that the scheduler does not use."""
    if not machine.isolated:
        return (
            subjects.ISOLATED.ok("none") if reported else subjects.ISOLATED.not_available("no list of them below /sys")
        )
    cpus = format_list(machine.isolated)
    if len(machine.allowed & machine.isolated) > 1:
        return subjects.ISOLATED.spoiler(f"{cpus}, and this process may use no others")
    return subjects.ISOLATED.caution(cpus)


def thread_variables(allowed: CpuSet, variables: Mapping[str, str]) -> Finding:
    """Environment variables that set the number and affinity of threads."""
    counts = {name: variables[name] for name in THREAD_COUNTS if name in variables}
    wrong = [words for name, text in counts.items() if (words := _misfit(name, text, len(allowed)))]
    if wrong:
        return subjects.THREAD_VARIABLES.spoiler("; ".join(wrong))
    habits = {name: variables[name] for name in THREAD_HABITS if name in variables}
    present = ", ".join(f"{name}={text[:40]!r}" for name, text in (counts | habits).items())
    return subjects.THREAD_VARIABLES.caution(present) if present else subjects.THREAD_VARIABLES.ok("none set")


def _misfit(name: str, text: str, cpus: int) -> str | None:
    """The problem of a thread count; OpenMP takes a list by nesting level ('4,2'), TensorFlow 0 for its default."""
    if not re.fullmatch(NUMBERS, text) or (prod(map(int, text.split(","))) == 0 and not name.startswith("TF_")):
        return f"{name}={text[:40]!r} is not a number of threads"
    if prod(map(int, text.split(","))) > cpus:
        return f"{name}={text[:40]!r} asks for more threads than the {count(cpus, 'allowed CPU')}"
    return None


# --- settings of the machine ---


def governor(allowed: CpuSet, clocks: Iterable[Clock]) -> Finding:
    """The governors of the allowed CPUs."""
    ours = [clock for clock in clocks if clock.cpu in allowed]
    if not ours:
        return subjects.GOVERNOR.not_available("no cpufreq below /sys, as in most virtual machines")
    cpus: dict[tuple[str, str], list[int]] = {}
    for clock in ours:
        cpus.setdefault((clock.governor, clock.driver or ""), []).append(clock.cpu)
    value = "; ".join(
        f"{governor} on CPUs {format_list(cpus[governor, driver])}" + (f" ({driver})" if driver else "")
        for governor, driver in sorted(cpus)
    )
    if all(governor == "performance" for governor, _ in cpus):
        return subjects.GOVERNOR.ok(value)
    if len(cpus) == 1 and (excuse := _excuse(*next(iter(cpus)))):
        return subjects.GOVERNOR.caution(f"{value}: {excuse}")
    return subjects.GOVERNOR.spoiler(value)


def _excuse(governor: str, driver: str) -> str | None:
    """Why a governor other than performance may do little harm."""
    if governor == "powersave" and driver in SELF_CLOCKED:
        return "the processor sets its clock itself, with a preference for saving power"
    return "fixed by hand, harmless if all CPUs have the same clock" if governor == "userspace" else None


def turbo(on: bool | None) -> Finding:
    """Whether clocks may exceed the nominal one."""
    if on is None:
        return subjects.TURBO.not_available("no switch for it below /sys")
    return subjects.TURBO.caution("on") if on else subjects.TURBO.ok("off")


def smt(machine: Topology) -> Finding:
    """The hardware threads per core."""
    if machine.widest_smt == 1:
        return subjects.SMT.ok("one thread per core")
    return subjects.SMT.caution(f"on, up to {machine.widest_smt} threads per core")


def core_types(machine: Topology) -> Finding:
    """Whether the allowed cores are of one type."""
    ours = {core_type.name: machine.allowed.intersection(core_type.cpus) for core_type in machine.core_types}
    value = "; ".join(f"{name}: {format_list(cpus)}" for name, cpus in ours.items() if cpus)
    mixed = sum(map(bool, ours.values())) > 1
    return subjects.CORE_TYPES.caution(value) if mixed else subjects.CORE_TYPES.ok(value or "one")


def huge_pages(mode: str | None) -> Finding:
    """The programs that get huge pages."""
    if mode is None:
        return subjects.HUGE_PAGES.not_available("no /sys/kernel/mm/transparent_hugepage")
    return subjects.HUGE_PAGES.caution(mode) if mode == "always" else subjects.HUGE_PAGES.ok(mode)


def numa_balancing(machine: Topology, mode: int | None) -> Finding:
    """Whether the kernel moves memory between nodes."""
    if mode is None:
        return subjects.NUMA_BALANCING.not_available("no /proc/sys/kernel/numa_balancing")
    nodes = len(machine.nodes)
    if mode and nodes > 1:
        return subjects.NUMA_BALANCING.caution(f"on, with {nodes} nodes")
    return subjects.NUMA_BALANCING.ok("on, but there is one node" if mode else "off")


def addresses(mode: int | None) -> Finding:
    """Whether every launch gets random addresses."""
    if mode is None:
        return subjects.ADDRESSES.not_available("no /proc/sys/kernel/randomize_va_space")
    if mode == 0:
        return subjects.ADDRESSES.caution("off: every launch has the same addresses")
    return subjects.ADDRESSES.ok("on: launches average over addresses" if mode == 2 else "on, except for the heap")


def virtual(guest: bool | None) -> Finding:
    """Whether this is a virtual machine."""
    if guest is None:
        return subjects.VIRTUAL.not_available("neither processor nor firmware reports it")
    return subjects.VIRTUAL.caution("yes") if guest else subjects.VIRTUAL.ok("no")


def energy_meters(power: PowerAccess) -> Finding:
    """The meters of energy and power, which are optional."""
    none = "none: no RAPL, no power sensor of the machine, no GPU"
    return _usable(subjects.METERS, power.meters, power.unreadable, "cannot be read", none)


def caps(power: PowerAccess) -> Finding:
    """The caps of power and clocks with their ranges, which are optional."""
    none = "none: no limit of RAPL, of cpufreq or of a GPU"
    return _usable(subjects.CAPS, power.caps, power.unsettable, "for root only", none)


def _usable(subject: Subject, usable: tuple[str, ...], refused: tuple[str, ...], refusal: str, none: str) -> Finding:
    words = ", ".join([*usable, *(f"{name} {refusal}" for name in refused)]) or none
    return replace(subject.not_available(words), remedy=subject.remedy) if refused else subject.ok(words)
