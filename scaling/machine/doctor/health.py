"""What about a machine would spoil a measurement: how it is set up, and how much of it is ours. Pure.

A function a subject, from values to a finding. What goes on in the machine meanwhile is activity's part.
"""

import re
from collections.abc import Iterable, Mapping
from math import prod

from scaling.machine.cpulist import CpuSet, format_list
from scaling.machine.doctor import activity, subjects
from scaling.machine.doctor.counters import Span
from scaling.machine.doctor.findings import Finding
from scaling.machine.doctor.vitals import Clock, Vitals
from scaling.machine.topology import Topology

# With these drivers 'powersave' leaves the clock to the processor, which raises it within milliseconds of work.
SELF_CLOCKED = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")

# Variables that take a number of threads, and others that decide where threads go.
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
    """Everything that is looked at, whatever its state."""
    settings, lately = vitals.settings, vitals.lately
    return (
        activity.load(vitals.load),
        activity.busy_cpus(machine, lately),
        activity.busy_siblings(machine, lately),
        activity.pressure(vitals.pressure),
        activity.steal(machine.allowed, lately, vitals.since_boot),
        activity.swap(vitals.memory, lately),
        activity.interrupts(machine.allowed, lately),
        activity.temperature(vitals.sensors),
        quota(machine, settings.tells_groups, lately),
        cpuset(machine, settings.tells_mask),
        offline(machine, settings.smt_control),
        isolated(machine, settings.tells_isolated),
        thread_variables(machine.allowed, variables),
        governor(machine.allowed, settings.clocks),
        turbo(settings.turbo),
        smt(machine),
        core_types(machine),
        huge_pages(settings.huge_pages),
        numa_balancing(machine, settings.numa_balancing),
        addresses(settings.address_randomness),
        virtual(settings.virtual),
    )


# --- what we are given of the machine ---


def quota(machine: Topology, told: bool, lately: Span) -> Finding:
    """CPU time that a control group rations."""
    cpus, count = machine.quota_cpus, len(machine.allowed)
    if cpus is None:
        return subjects.QUOTA.ok("none") if told else subjects.QUOTA.not_available("no /proc/self/cgroup")
    value = f"{cpus:g} CPUs' worth of time for {count} allowed CPU(s)"
    if lately.throttled_periods:
        value += f", ran out in {lately.throttled_periods} periods {lately.words}"
    return subjects.QUOTA.spoiler(value) if cpus < count else subjects.QUOTA.ok(value)


def cpuset(machine: Topology, told: bool) -> Finding:
    """Online CPUs that are not ours; isolated ones nobody gets unasked, and they are a subject of their own."""
    missing = machine.online - machine.allowed - machine.isolated
    if not missing:
        whole = f"all online CPUs, {format_list(machine.allowed)}"
        return subjects.CPUSET.ok(whole) if told else subjects.CPUSET.not_available("no /proc/self/status")
    value = f"{format_list(machine.allowed)} of {format_list(machine.online)}, without {format_list(missing)}"
    divided = [core for core in machine.cores if missing.intersection(core) and machine.allowed.intersection(core)]
    if divided:
        some = "; ".join(map(format_list, divided[:4])) + ("; …" if len(divided) > 4 else "")
        return subjects.CPUSET.spoiler(f"{value}, which divides {len(divided)} core(s): {some}")
    return subjects.CPUSET.caution(value)


def offline(machine: Topology, smt_control: str | None) -> Finding:
    """CPUs that are there and off, unless they are off because SMT is."""
    missing = machine.present - machine.online
    if not missing:
        return subjects.OFFLINE.ok("none")
    siblings = smt_control in ("off", "forceoff") and machine.widest_smt == 1
    if siblings and len(missing) % len(machine.online) == 0:
        return subjects.OFFLINE.ok(f"{format_list(missing)}, the second threads of cores, with SMT off")
    return subjects.OFFLINE.caution(f"{format_list(missing)} of {format_list(machine.present)}")


def isolated(machine: Topology, told: bool) -> Finding:
    """CPUs that the scheduler keeps off."""
    if not machine.isolated:
        return subjects.ISOLATED.ok("none") if told else subjects.ISOLATED.not_available("no list of them below /sys")
    cpus = format_list(machine.isolated)
    if len(machine.allowed & machine.isolated) > 1:
        return subjects.ISOLATED.spoiler(f"{cpus}, and this process may use no others")
    return subjects.ISOLATED.caution(cpus)


def thread_variables(allowed: CpuSet, variables: Mapping[str, str]) -> Finding:
    """Variables of the shell that decide how many threads a program starts, and where."""
    counts = {name: variables[name] for name in THREAD_COUNTS if name in variables}
    wrong = [words for name, text in counts.items() if (words := _misfit(name, text, len(allowed)))]
    if wrong:
        return subjects.THREAD_VARIABLES.spoiler("; ".join(wrong))
    habits = {name: variables[name] for name in THREAD_HABITS if name in variables}
    present = ", ".join(f"{name}={text[:40]!r}" for name, text in (counts | habits).items())
    return subjects.THREAD_VARIABLES.caution(present) if present else subjects.THREAD_VARIABLES.ok("none set")


def _misfit(name: str, text: str, cpus: int) -> str | None:
    """What is wrong with a number of threads; OpenMP takes one a nesting level ('4,2'), TensorFlow 0 for its own."""
    if not re.fullmatch(NUMBERS, text) or (prod(map(int, text.split(","))) == 0 and not name.startswith("TF_")):
        return f"{name}={text[:40]!r} is no number of threads"
    if prod(map(int, text.split(","))) > cpus:
        return f"{name}={text[:40]!r} asks for more threads than the {cpus} allowed CPU(s)"
    return None


# --- how the machine is set up ---


def governor(allowed: CpuSet, clocks: Iterable[Clock]) -> Finding:
    """Who sets the clocks of the allowed CPUs."""
    ours = [clock for clock in clocks if clock.cpu in allowed]
    if not ours:
        return subjects.GOVERNOR.not_available("no cpufreq below /sys, as in most virtual machines")
    manners = sorted({(clock.governor, clock.driver or "") for clock in ours})
    value = "; ".join(_governed(*manner, ours) for manner in manners)
    if all(governor == "performance" for governor, _ in manners):
        return subjects.GOVERNOR.ok(value)
    if len(manners) == 1 and (steady := _steady(*manners[0])):
        return subjects.GOVERNOR.caution(f"{value}: {steady}")
    return subjects.GOVERNOR.spoiler(value)


def _governed(governor: str, driver: str, clocks: Iterable[Clock]) -> str:
    cpus = format_list(clock.cpu for clock in clocks if (clock.governor, clock.driver or "") == (governor, driver))
    return f"{governor} on CPUs {cpus}" + (f" ({driver})" if driver else "")


def _steady(governor: str, driver: str) -> str | None:
    """Why a clock not set for performance still does little harm."""
    if governor == "powersave" and driver in SELF_CLOCKED:
        return "the processor sets its clock itself, thriftily"
    return "fixed by hand, if at the same clock everywhere" if governor == "userspace" else None


def turbo(on: bool | None) -> Finding:
    """Clocks above the nominal one."""
    if on is None:
        return subjects.TURBO.not_available("no switch for it below /sys")
    return subjects.TURBO.caution("on") if on else subjects.TURBO.ok("off")


def smt(machine: Topology) -> Finding:
    """Hardware threads of a core."""
    if machine.widest_smt == 1:
        return subjects.SMT.ok("one thread a core")
    return subjects.SMT.caution(f"on, up to {machine.widest_smt} threads a core")


def core_types(machine: Topology) -> Finding:
    """Whether the allowed cores are of one make."""
    ours = {core_type.name: machine.allowed.intersection(core_type.cpus) for core_type in machine.core_types}
    value = "; ".join(f"{name}: {format_list(cpus)}" for name, cpus in ours.items() if cpus)
    mixed = sum(map(bool, ours.values())) > 1
    return subjects.CORE_TYPES.caution(value) if mixed else subjects.CORE_TYPES.ok(value or "one")


def huge_pages(mode: str | None) -> Finding:
    """Who gets huge pages."""
    if mode is None:
        return subjects.HUGE_PAGES.not_available("no /sys/kernel/mm/transparent_hugepage")
    return subjects.HUGE_PAGES.caution(mode) if mode == "always" else subjects.HUGE_PAGES.ok(mode)


def numa_balancing(machine: Topology, mode: int | None) -> Finding:
    """Whether the kernel moves memory between nodes by itself, where there is more than one."""
    if mode is None:
        return subjects.NUMA_BALANCING.not_available("no /proc/sys/kernel/numa_balancing")
    nodes = len(machine.nodes)
    if mode and nodes > 1:
        return subjects.NUMA_BALANCING.caution(f"on, with {nodes} nodes")
    return subjects.NUMA_BALANCING.ok("on, but there is one node" if mode else "off")


def addresses(mode: int | None) -> Finding:
    """Whether every launch gets a layout of its own."""
    if mode is None:
        return subjects.ADDRESSES.not_available("no /proc/sys/kernel/randomize_va_space")
    if mode == 0:
        return subjects.ADDRESSES.caution("off: every launch has the same addresses")
    return subjects.ADDRESSES.ok("on: launches average over addresses" if mode == 2 else "on, but for the heap")


def virtual(guest: bool | None) -> Finding:
    """Whether a hypervisor stands between us and the processor."""
    if guest is None:
        return subjects.VIRTUAL.not_available("neither processor nor firmware says")
    return subjects.VIRTUAL.caution("yes") if guest else subjects.VIRTUAL.ok("no")
