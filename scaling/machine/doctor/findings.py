"""Subjects of an examination, their findings, and the verdict. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partialmethod
from typing import Literal

State = Literal["spoiler", "caution", "ok", "not available"]

# Worst first.
STATES: tuple[State, ...] = ("spoiler", "caution", "ok", "not available")


@dataclass(frozen=True, slots=True)
class Finding:
    """The state of a subject, why it matters, and the remedy, if it needs one."""

    name: str
    state: State
    value: str
    why: str
    remedy: str | None

    @property
    def code(self) -> str:
        """The name in JSON: lower case, words joined by '-'."""
        return self.name.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject to examine: why it matters to a measurement, and the remedy."""

    name: str
    why: str
    remedy: str

    def finding(self, state: State, value: str) -> Finding:
        """A finding, which needs the remedy if it makes figures wrong or limits their meaning."""
        return Finding(self.name, state, value, self.why, self.remedy if state in ("spoiler", "caution") else None)

    spoiler = partialmethod(finding, "spoiler")
    caution = partialmethod(finding, "caution")
    ok = partialmethod(finding, "ok")
    not_available = partialmethod(finding, "not available")

    def grade(self, figure: float, caution_from: float, spoils_from: float, value: str) -> Finding:
        """The finding for a figure, from two thresholds."""
        if figure >= spoils_from:
            return self.spoiler(value)
        return self.caution(value) if figure >= caution_from else self.ok(value)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by state, otherwise in the given order."""
    return sorted(findings, key=lambda finding: STATES.index(finding.state))


def verdict(findings: Iterable[Finding]) -> State:
    """The worst available state; `ok` without any."""
    known = [finding for finding in findings if finding.state != "not available"]
    return worst_first(known)[0].state if known else "ok"


LOAD = Subject(
    "load",
    "Other tasks share the CPUs of the run. A step whose threads wait for each other is as slow as its slowest thread, "
    "so one busy neighbour can double its time, most of all when all cores are in use.",
    "Find the tasks with top; end them, or measure when they have ended.",
)
BUSY_CPUS = Subject(
    "busy CPUs",
    "A CPU that runs another task has less time for the measured run.",
    "Find the task with ps -eo psr,pcpu,comm --sort -pcpu and end or move it, or leave its CPU out with the study key "
    "`reserve`.",
)
BUSY_SIBLINGS = Subject(
    "busy siblings",
    "The hardware threads of a core share its units: a task on one of them slows a run on the other, commonly by a "
    "third or more, although it uses none of the run's CPUs.",
    "End or move the task (taskset -cp), leave the whole core out with the study key `reserve`, or turn SMT off.",
)
STEAL = Subject(
    "steal",
    "The hypervisor gave this machine's CPUs to others while the clock went on; nothing inside the machine can prevent "
    "it.",
    "Measure at a quieter time, or on a dedicated host; every row records the steal of its run.",
)
PRESSURE = Subject(
    "pressure",
    "Tasks are waiting for a CPU, or for free memory. A measured run would wait in the same queue.",
    "End the competing tasks (top shows them).",
)
SWAP = Subject(
    "swap",
    "A page on disk takes a step thousands of times longer than memory, and which pages are on disk is random.",
    "Free memory or choose a smaller study; sudo swapoff -a brings all pages back if they fit.",
)
INTERRUPTS = Subject(
    "interrupts",
    "Each interrupt takes a CPU from the run for some microseconds and evicts part of its caches.",
    "Leave the CPU out with the study key `reserve`, or move the interrupt: find it in /proc/interrupts and write the "
    "CPUs that may serve it to /proc/irq/NUMBER/smp_affinity_list (stop irqbalance, which would move it back).",
)
TEMPERATURE = Subject(
    "temperature",
    "Near its limit a processor lowers its clock, and more cores heat it more, so the limit on scaling comes from the "
    "machine, not the program.",
    "Improve the cooling, or lower the highest clock (sudo cpupower frequency-set -u) until it stays below the limit.",
)
GOVERNOR = Subject(
    "governor",
    "A governor that follows the load changes the clock during steps, and sets different clocks for busy cores and for "
    "cores that often wait.",
    "sudo cpupower frequency-set -g performance",
)
TURBO = Subject(
    "turbo",
    "A few busy cores have a higher clock than many. One core, the reference of every speedup, is then faster alone "
    "than beside others, and efficiency falls by the ratio of the clocks.",
    "Turn it off for the measurement (echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, elsewhere "
    "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost), or report that it was on.",
)
SMT = Subject(
    "SMT",
    "The hardware threads of a core share its units. A placement with smt=1 leaves the second thread idle, but the "
    "kernel may run other tasks there.",
    "None needed on a quiet machine; to turn SMT off, run: echo off | sudo tee /sys/devices/system/cpu/smt/control",
)
CORE_TYPES = Subject(
    "core types",
    "With fast and slow cores, one curve mixes two machines: it bends at the first core of the other type, and threads "
    "that wait for each other all run at the slower speed.",
    'Measure one type at a time: core_type = "NAME" in the study, with a name from scaling machine topology.',
)
OFFLINE = Subject(
    "offline CPUs",
    "The curve ends before the machine does. A core, cache or socket with an offline CPU differs from the others, and "
    "so does every point that includes it.",
    "echo 1 | sudo tee /sys/devices/system/cpu/cpuNUMBER/online, or restrict placement to whole sockets or caches with "
    "the study key `within`.",
)
ISOLATED = Subject(
    "isolated CPUs",
    "The scheduler does not balance threads over isolated CPUs: all threads of a run may stay on the CPU they started "
    "on. Placement policies do not use them.",
    'Name them (placements = ["cpus:LIST"]) to measure one thread on quiet CPUs; for more threads boot without '
    "isolcpus, or bind each thread.",
)
QUOTA = Subject(
    "quota",
    "When the control group has used up its quota, all its threads pause until the next period, usually 0.1 s; more "
    "cores only use up the quota sooner. Affinity masks and CPU counts do not show a quota.",
    "Lift the limit (docker --cpus, Kubernetes limits.cpu, systemd CPUQuota=), or use fewer cores than the quota.",
)
CPUSET = Subject(
    "cpuset",
    "Only some of the machine's CPUs may be used. Other programs may use the rest, and then share caches, memory and "
    "partly allowed cores with the run.",
    "Ask for whole cores, better whole caches or sockets (taskset, docker --cpuset-cpus, Slurm --exclusive), or leave "
    "partly allowed cores out with the study key `reserve`.",
)
THREAD_VARIABLES = Subject(
    "thread variables",
    "Thread pools follow these variables silently. A sweep clears them for its runs, so its results are safe; a "
    "program started by hand for comparison is affected.",
    "Unset them in this shell and in its startup files.",
)
HUGE_PAGES = Subject(
    "THP",
    "With huge pages for all programs, fragmentation decides how much of a program's memory uses them, and a kernel "
    "thread joins pages during steps, so results differ between launches and days.",
    "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
)
NUMA_BALANCING = Subject(
    "NUMA balancing",
    "The kernel unmaps pages to see which node uses them, and moves them between nodes during steps. A sweep with "
    'memory = "local" or "interleave" is exempt; memory = "none" and programs started by hand are not.',
    "echo 0 | sudo tee /proc/sys/kernel/numa_balancing",
)
ADDRESSES = Subject(
    "ASLR",
    "The addresses of a program change its speed by some percent. With random addresses the spread across launches "
    "shows this; with fixed addresses all launches share one bias and look precise.",
    "echo 2 | sudo tee /proc/sys/kernel/randomize_va_space",
)
METERS = Subject(
    "energy meters",
    "Energy is measured only if a meter may be read; nothing else depends on it.",
    "Run as root, or have root run: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj; for a GPU, install "
    "the NVIDIA driver and, in your clone of scaling, run: pip install '.[energy]'",
)
CAPS = Subject(
    "caps",
    "Caps of power and clocks matter only to studies that set them.",
    "Run as root, or leave these caps out of the study.",
)
VIRTUAL = Subject(
    "virtual machine",
    "A virtual CPU may share its core with others, may move between cores, and does not see the real clocks and "
    "caches: topology and results hold for this guest, not for the processor it names.",
    "For results that hold for the processor, measure on the host or a bare-metal instance; otherwise check steal in "
    "the rows.",
)
