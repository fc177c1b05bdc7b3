"""What an examination of a machine comes to: subjects, their findings, and the verdict over all of them. Pure.

The subjects at the end are texts: what is examined, why it matters to a measurement, and the remedy.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["spoiler", "caution", "ok", "not available"]

# The worst first: the order in which findings are shown, and in which they make the verdict.
STATES: tuple[State, ...] = ("spoiler", "caution", "ok", "not available")


@dataclass(frozen=True, slots=True)
class Finding:
    """One subject examined: its state, why it matters, and what to do where something is to be done."""

    name: str
    state: State
    value: str
    why: str
    remedy: str | None

    @property
    def code(self) -> str:
        """The subject for programs: lower case, words joined by '-'."""
        return self.name.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to examine, before its state is known."""

    name: str
    why: str
    remedy: str

    def spoiler(self, value: str) -> Finding:
        """A state in which figures would be wrong."""
        return Finding(self.name, "spoiler", value, self.why, self.remedy)

    def caution(self, value: str) -> Finding:
        """A state in which figures hold, but not for everything one may take them for."""
        return Finding(self.name, "caution", value, self.why, self.remedy)

    def ok(self, value: str) -> Finding:
        """A state as it should be."""
        return Finding(self.name, "ok", value, self.why, None)

    def not_available(self, reason: str) -> Finding:
        """The machine does not report its state."""
        return Finding(self.name, "not available", reason, self.why, None)

    def grade(self, figure: float, caution_from: float, spoils_from: float, value: str) -> Finding:
        """Worse the higher the figure is."""
        if figure >= spoils_from:
            return self.spoiler(value)
        return self.caution(value) if figure >= caution_from else self.ok(value)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by state, otherwise in the order they came."""
    return sorted(findings, key=lambda finding: STATES.index(finding.state))


def verdict(findings: Iterable[Finding]) -> State:
    """The worst state there is; what is not available says nothing."""
    known = [finding for finding in findings if finding.state != "not available"]
    return worst_first(known)[0].state if known else "ok"


LOAD = Subject(
    "load",
    "Other tasks take turns with the run on its CPUs. A step in which all threads wait for each other is as slow as "
    "the slowest of them, so one busy neighbour can double it, and does so first where all cores are in use.",
    "See with top who is running; stop it, or measure when it has ended.",
)
BUSY_CPUS = Subject(
    "busy CPUs",
    "A CPU that runs somebody else's work gives the measured run only what is left of its time.",
    "Find the task with ps -eo psr,pcpu,comm --sort -pcpu and stop or move it, or leave its CPU out with reserve.",
)
BUSY_SIBLINGS = Subject(
    "busy siblings",
    "The hardware threads of a core share its units: work on one of them slows a run on the other, commonly by a third "
    "or more, although no CPU of the run is taken.",
    "Stop or move the task (taskset -cp), leave the whole core out with reserve, or turn SMT off.",
)
STEAL = Subject(
    "steal",
    "The hypervisor gave this machine's CPUs to somebody else; the clock went on, and nothing inside the machine can "
    "prevent it.",
    "Measure at a quieter hour, or on a dedicated host; every row has the steal of its own run to judge it by.",
)
PRESSURE = Subject(
    "pressure",
    "Tasks are waiting for a CPU, or for memory to be freed. A measured run would wait in the same queue.",
    "Stop what is competing (top shows it), or give the machine fewer things to do.",
)
SWAP = Subject(
    "swap",
    "A page that is out on a disk costs a step thousands of times what memory does, and which pages are out is a "
    "matter of luck.",
    "Free memory or choose a smaller study; sudo swapoff -a brings all pages back, if they fit.",
)
INTERRUPTS = Subject(
    "interrupts",
    "Serving a device takes a CPU away from the run for some microseconds each time, and empties its caches a little.",
    "Leave the CPU out with reserve, or move the interrupt: /proc/interrupts shows which it is, "
    "/proc/irq/NUMBER/smp_affinity_list takes the CPUs that may serve it (stop irqbalance, or it moves back).",
)
TEMPERATURE = Subject(
    "temperature",
    "Near its limit a processor lowers its clock, and it gets hotter the more cores are in use: the machine, not the "
    "program, then stops scaling.",
    "Improve the cooling, or lower the highest clock (sudo cpupower frequency-set -u) until it keeps away from it.",
)
GOVERNOR = Subject(
    "governor",
    "A governor that follows the load changes the clock while steps are timed, and clocks a core that often waits "
    "unlike one that never does.",
    "sudo cpupower frequency-set -g performance",
)
TURBO = Subject(
    "turbo",
    "A few busy cores are clocked higher than many. One core, which every speedup is measured against, is then faster "
    "than it is beside others, and efficiency comes out lower by the ratio of the clocks.",
    "Turn it off meanwhile (echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo, elsewhere "
    "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost), or say beside the figures that it was on.",
)
SMT = Subject(
    "SMT",
    "The hardware threads of a core share its units. A placement with smt=1 leaves the second thread idle, but the "
    "kernel may put other work there.",
    "None needed on a quiet machine; to be sure, echo off | sudo tee /sys/devices/system/cpu/smt/control",
)
CORE_TYPES = Subject(
    "core types",
    "Fast and slow cores make one curve of two machines: where a run goes on to the other type the curve bends, and "
    "threads that wait for each other all work at the slower pace.",
    'Measure one type at a time: core_type = "NAME" in the study, as scaling machine topology names it.',
)
OFFLINE = Subject(
    "offline CPUs",
    "The curve ends before the machine does; cores, caches or sockets that lack a CPU are unlike the others, and a "
    "point that reaches them is unlike the points before it.",
    "echo 1 | sudo tee /sys/devices/system/cpu/cpuNUMBER/online, or keep to whole sockets or caches with within.",
)
ISOLATED = Subject(
    "isolated CPUs",
    "The scheduler keeps off isolated CPUs, and never moves a thread from one of them to another: the threads of a run "
    "may all stay on the CPU they started on. No placement takes them by itself.",
    'Name them (placements = ["cpus:LIST"]) to measure one thread on quiet CPUs; for more threads start without '
    "isolcpus, or bind each thread.",
)
QUOTA = Subject(
    "quota",
    "When the control group has used up its quota all its threads stop until the next period, mostly a tenth of a "
    "second: more cores then only reach the stop sooner. Masks and CPU counts do not show it.",
    "Lift the limit (docker --cpus, Kubernetes limits.cpu, systemd CPUQuota=), or stay below it in cores.",
)
CPUSET = Subject(
    "cpuset",
    "Only some of the machine's CPUs may be used. What is left out may be given to others, who share caches, memory, "
    "and the cores that are allowed only in part.",
    "Ask for whole cores, better whole caches or sockets (taskset, docker --cpuset-cpus, Slurm --exclusive), or leave "
    "divided cores out with reserve.",
)
THREAD_VARIABLES = Subject(
    "thread variables",
    "Thread pools obey them without a word. A sweep clears them for its own runs, so its figures are safe; a program "
    "started by hand to compare with is not.",
    "unset them in this shell and in what it reads at its start.",
)
HUGE_PAGES = Subject(
    "THP",
    "With huge pages for everybody, how much of a program's memory gets them depends on how fragmented memory is, and "
    "a kernel thread joins pages while steps are timed: launches differ, and so do days.",
    "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
)
NUMA_BALANCING = Subject(
    "NUMA balancing",
    "The kernel takes pages away to see who asks for them, and moves them between nodes while steps are timed. A sweep "
    'with memory = "local" or "interleave" is exempt; one with "none", and a program started by hand, is not.',
    "echo 0 | sudo tee /proc/sys/kernel/numa_balancing",
)
ADDRESSES = Subject(
    "ASLR",
    "Where a program lies in memory is worth some percent of its speed. With random addresses every launch draws anew, "
    "and the spread over launches shows it; with fixed ones all launches share one draw that looks precise.",
    "echo 2 | sudo tee /proc/sys/kernel/randomize_va_space",
)
METERS = Subject(
    "energy meters",
    "Runs have energy only where a meter may be read; nothing else depends on it.",
    "Run as root, or have root give: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj; for a GPU, install "
    "the NVIDIA driver and, in the clone of scaling, pip install '.[energy]'.",
)
CAPS = Subject(
    "caps",
    "Studies of caps set limits of power and clocks; others need none.",
    "Run as root, or leave these caps out of the study.",
)
VIRTUAL = Subject(
    "virtual machine",
    "A virtual CPU may be a hardware thread of a core that others use, may wander, and sees neither clocks nor caches "
    "as they are: topology and figures hold for this guest, not for the processor it names.",
    "Measure on the host or a bare-metal instance for figures of the processor; look at steal in the rows otherwise.",
)
