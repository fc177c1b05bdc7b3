"""An invented machine in good health, the faults that can be planted in it, and its examination."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from scaling.machine.doctor.checks import findings
from scaling.machine.doctor.findings import Finding
from scaling.machine.doctor.procfs import read_vitals
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import parse_list
from tests.scaling.machine.invented import CPU_FOLDER, TWO_SOCKETS, Machine, files, write

# Four cores of two threads each: 0,4 1,5 2,6 3,7.
WHOLE = replace(TWO_SOCKETS, allowed=TWO_SOCKETS.present)

HOUR = 3600
TICKS = 100  # a second


def stat(busy: Mapping[int, float], steal: float = 0.0, seconds: int = HOUR, running: int = 1) -> str:
    """/proc/stat of eight CPUs with some of them busy a share of the time, and all of them robbed of a share.

    The task that reads it is one of those running.
    """
    ticks = seconds * TICKS
    lines = []
    for cpu in range(8):
        work, stolen = round(busy.get(cpu, 0.01) * ticks), round(steal * ticks)
        lines.append(f"cpu{cpu} {work} 0 0 {ticks - work - stolen} 0 0 0 {stolen} 0 0")
    return "\n".join(["cpu  1 2 3 4 5 6 7 8 9 10", *lines, "intr 12345 0 0", "ctxt 99", f"procs_running {running}"])


def interrupts(per_second: Mapping[int, int], seconds: int = HOUR) -> str:
    """/proc/interrupts of eight CPUs, one device and the timers."""
    counts = "  ".join(str(per_second.get(cpu, 2) * seconds) for cpu in range(8))
    many = "  ".join(["99999999"] * 8)
    header = "  ".join(f"CPU{cpu}" for cpu in range(8))
    lines = [f" 24:  {counts}  PCI-MSIX-0000:00:01.0  0-edge  nvme0q1", f" 11:  {many}  GICv3 26 Level  arch_timer"]
    return "\n".join([f"      {header}", *lines, f"LOC:  {many}  Local timer interrupts", "ERR:  0"])


def meminfo(available_gib: int = 60, swap_free_gib: int = 8) -> str:
    """/proc/meminfo of 64 GiB, and 8 GiB of swap space."""
    sizes = {"MemTotal": 64, "MemAvailable": available_gib, "SwapTotal": 8, "SwapFree": swap_free_gib}
    return "".join(f"{name}:  {size * 2**20} kB\n" for name, size in sizes.items())


ZONE = "sys/class/thermal/thermal_zone1"
HEALTHY: dict[str, str] = {
    "proc/uptime": f"{HOUR}.00 7000.00",
    "proc/loadavg": "3.50 2.00 1.00 1/467 12345",  # of a sweep that has ended
    "proc/stat": stat({}),
    "proc/interrupts": interrupts({}),
    "proc/vmstat": "nr_free_pages 1\npswpin 0\npswpout 12\n",
    "proc/meminfo": meminfo(),
    "proc/pressure/cpu": "some avg10=0.10 avg60=0.05 avg300=0.00 total=5\nfull avg10=9.00 avg60=0.00",
    "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu vme sse2\n",
    "proc/self/cgroup": "0::/\n",
    "proc/sys/kernel/numa_balancing": "0",
    "proc/sys/kernel/randomize_va_space": "2",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    f"{CPU_FOLDER}/intel_pstate/no_turbo": "1",
    f"{CPU_FOLDER}/smt/control": "on",
    **{f"{CPU_FOLDER}/cpu{cpu}/cpufreq/scaling_governor": "performance" for cpu in range(8)},
    **{f"{CPU_FOLDER}/cpu{cpu}/cpufreq/scaling_driver": "intel_pstate" for cpu in range(8)},
    f"{ZONE}/type": "x86_pkg_temp",
    f"{ZONE}/temp": "45000",
    f"{ZONE}/trip_point_0_type": "passive",
    f"{ZONE}/trip_point_0_temp": "95000",
}


@dataclass(frozen=True)
class Fault:
    """Something planted: in the machine, in its files, or in the shell."""

    machine: Machine = WHOLE
    texts: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


PLANTED = {
    "load": Fault(texts={"proc/stat": stat({}, running=5)}),
    "quota": Fault(texts={"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "250000 100000\n"}),
    "cpuset": Fault(machine=replace(WHOLE, allowed=parse_list("0-4,6-7"))),
    "busy siblings": Fault(texts={"proc/stat": stat({6: 0.9})}),
    "swap": Fault(texts={"proc/meminfo": meminfo(available_gib=1, swap_free_gib=2)}),
    "thread variables": Fault(variables={"OMP_NUM_THREADS": "64"}),
    "governor": Fault(texts={f"{CPU_FOLDER}/cpu3/cpufreq/scaling_governor": "ondemand"}),
    "offline CPUs": Fault(machine=replace(WHOLE, offline=parse_list("7"))),
}

# All of them at once.
EVERYTHING = Fault(
    machine=replace(WHOLE, allowed=parse_list("0-4,6-7"), offline=parse_list("7")),
    texts={path: text for fault in PLANTED.values() for path, text in fault.texts.items()}
    | {"proc/stat": stat({6: 0.9}, running=5)},
    variables={"OMP_NUM_THREADS": "64"},
)


def plant(root: Path, fault: Fault) -> Path:
    """Write the machine with its fault below a root."""
    return write(root, files(fault.machine) | HEALTHY | dict(fault.texts))


def examine(fault: Fault, pause: Callable[[Path], object] | None = None) -> dict[str, Finding]:
    """The findings on a machine with a fault, by name; the pause may change what lies below the root."""
    with TemporaryDirectory() as folder:
        root = plant(Path(folder), fault)
        vitals = read_vitals(root, None if pause is None else lambda: pause(root))
        return {finding.name: finding for finding in findings(read_topology(root), vitals, fault.variables)}
