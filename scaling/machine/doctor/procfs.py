"""Reads a machine's vitals from procfs and sysfs of this machine or a recording, without changes or privileges.

A value whose file is missing, unreadable or malformed is unknown, not an error.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from scaling.errors import MachineError
from scaling.machine.controls import CAPS
from scaling.machine.doctor.checks import findings
from scaling.machine.doctor.findings import Finding
from scaling.machine.doctor.readings import (
    Clock,
    CpuTicks,
    Memory,
    Moment,
    PowerAccess,
    Pressure,
    Sensor,
    Settings,
    Vitals,
    since_boot,
    span,
)
from scaling.machine.gpus import NVIDIA_DEVICE, find_gpu
from scaling.machine.kernel_files import bandwidth_count, named_lines, numbered_folders, read_number, read_text
from scaling.machine.power import CPU_FOLDER, find_meters, zones
from scaling.machine.sysfs import HERE
from scaling.machine.topology import Topology

# Ticks are a hundredth of a second.
SECONDS_BETWEEN_READINGS = 1.0

# Product names of virtual machines, for processors without a flag.
VIRTUAL_PRODUCTS = ("kvm", "qemu", "vmware", "virtual", "xen", "bochs", "openstack")

# Thermometers of the processor, by words in a zone's type, and by driver.
PROCESSOR_ZONES = ("cpu", "pkg", "core", "soc")
PROCESSOR_DRIVERS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")

# Trip points at which a processor slows down or is shut down; 'active' only turns a fan on.
SLOWING_TRIPS = ("passive", "hot", "critical")


def read_vitals(root: Path, pause: Callable[[], object] | None = None) -> Vitals:
    """The machine's vitals; counters are read before and after the pause, or once without it."""
    before = _moment(root) if pause else None
    if pause:
        pause()
    now = _moment(root)
    return Vitals(
        settings=_settings(root),
        pressure=Pressure(*(_waiting_share(root / "proc/pressure" / resource) for resource in ("cpu", "memory"))),
        memory=_memory(root),
        sensors=(*_zones(root), *_monitors(root)),
        recent=span("just now", before, now) if before else since_boot(now),
        since_boot=since_boot(now),
        power=_power_access(root),
    )


def _power_access(root: Path) -> PowerAccess:
    """The meters that may be read and the caps that may be set, without setting any."""
    gpu, problems = None, []
    if root == HERE and (root / NVIDIA_DEVICE).exists():
        try:
            gpu = find_gpu()
        except MachineError as error:
            problems.append(f"GPU ({str(error).partition(';')[0]})")
    meters = [meter.name for meter in find_meters(root, gpu).meters]
    unreadable = [zone.name for zone in zones(root) if zone.name not in meters]
    caps: list[str] = []
    unsettable: list[str] = []
    for name, control in CAPS.items():
        if gpu is None and control.on_gpu:
            continue
        with suppress(MachineError):
            if control.read(root):
                words = f"{name} {_range_words(*control.range(root))}".rstrip()
                (caps if control.may_set(root) else unsettable).append(words)
    return PowerAccess(tuple(meters), (*unreadable, *problems), tuple(caps), tuple(unsettable))


def _range_words(lowest: float | None, highest: float | None) -> str:
    """'800 to 3800'."""
    return " ".join(([f"{lowest:g}"] if lowest else []) + ([f"to {highest:g}"] if highest else []))


def _settings(root: Path) -> Settings:
    return Settings(
        clocks=tuple(_clocks(root)),
        turbo=_turbo(root),
        smt_control=read_text(root / CPU_FOLDER / "smt/control"),
        huge_pages=_chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"),
        numa_balancing=read_number(root / "proc/sys/kernel/numa_balancing"),
        address_randomness=read_number(root / "proc/sys/kernel/randomize_va_space"),
        virtual=_virtual(root),
        reports_isolated=(root / CPU_FOLDER / "isolated").exists(),
        reports_mask=(root / "proc/self/status").exists(),
        reports_cgroups=(root / "proc/self/cgroup").exists(),
    )


def _clocks(root: Path) -> Iterator[Clock]:
    for cpu, folder in numbered_folders(root / CPU_FOLDER, "cpu").items():
        if governor := read_text(folder / "cpufreq/scaling_governor"):
            yield Clock(cpu, governor, read_text(folder / "cpufreq/scaling_driver"))


def _turbo(root: Path) -> bool | None:
    """Whether clocks may rise above the nominal one."""
    forbidden = read_number(root / CPU_FOLDER / "intel_pstate/no_turbo")
    if forbidden is not None:
        return forbidden == 0
    folder = root / CPU_FOLDER
    switches = map(read_number, (folder / "cpufreq/boost", *folder.glob("cpu*/cpufreq/boost")))
    known = [switch for switch in switches if switch is not None]
    return any(known) if known else None


def _virtual(root: Path) -> bool | None:
    """Whether this is a guest of a hypervisor, by the flag of x86, the platform of POWER, or the firmware."""
    about = named_lines(root / "proc/cpuinfo")
    if "flags" in about:
        return "hypervisor" in about["flags"].split()
    if about.get("platform") == "PowerNV":
        return False
    if (root / "sys/hypervisor/type").exists() or about.get("platform") == "pSeries":
        return True
    product = read_text(root / "sys/class/dmi/id/product_name")
    return None if product is None else any(word in product.lower() for word in VIRTUAL_PRODUCTS)


def _moment(root: Path) -> Moment:
    swapping = named_lines(root / "proc/vmstat", " ")
    pages = [int(swapping[name]) for name in ("pswpin", "pswpout") if swapping.get(name, "").isdecimal()]
    throttled = None
    with suppress(ValueError):
        throttled = bandwidth_count(root, "nr_throttled")
    return Moment(
        uptime_seconds=_first_number(root / "proc/uptime"),
        ticks=dict(_ticks(root)),
        interrupts=dict(_interrupts(root)),
        swapped_pages=sum(pages) if pages else None,
        throttled_periods=throttled,
        other_tasks=_other_tasks(root),
    )


def _other_tasks(root: Path) -> int | None:
    """The tasks that run or wait for a CPU, without the one that reads."""
    running = named_lines(root / "proc/stat", " ").get("procs_running", "")
    return max(0, int(running) - 1) if running.isdecimal() else None


def _ticks(root: Path) -> Iterator[tuple[int, CpuTicks]]:
    """Ticks by CPU; user and nice include guest time, and waiting for a disk is idle time."""
    lines = (read_text(root / "proc/stat") or "").splitlines()
    for match in filter(None, (re.fullmatch(r"cpu(\d+)((?: +\d+){8,})", line.rstrip()) for line in lines)):
        user, nice, system, idle, waiting, irq, softirq, stolen = map(int, match[2].split()[:8])
        busy = user + nice + system + irq + softirq
        yield int(match[1]), CpuTicks(busy, stolen, busy + stolen + idle + waiting)


def _interrupts(root: Path) -> Iterator[tuple[int, int]]:
    """Device interrupts by CPU: the numbered lines without timers, which belong to a CPU and cannot be moved."""
    header, *lines = (read_text(root / "proc/interrupts") or "").splitlines() or [""]
    cpus = [int(word[3:]) for word in header.split() if re.fullmatch(r"CPU\d+", word)]
    devices = [line.split()[1:] for line in lines if re.match(r" *\d+:", line) and "timer" not in line]
    for column, cpu in enumerate(cpus):
        counts = [int(words[column]) for words in devices if len(words) > column and words[column].isdecimal()]
        yield cpu, sum(counts)


def _memory(root: Path) -> Memory | None:
    kilobytes = {
        name: int(number)
        for name, text in named_lines(root / "proc/meminfo").items()
        if (number := text.removesuffix(" kB")).isdecimal()
    }
    total, available = kilobytes.get("MemTotal"), kilobytes.get("MemAvailable")
    swap, free = kilobytes.get("SwapTotal"), kilobytes.get("SwapFree")
    if total is None or swap is None or free is None:
        return None
    return Memory(1024 * total, None if available is None else 1024 * available, 1024 * swap, 1024 * (swap - free))


def _waiting_share(path: Path) -> float | None:
    """The share of the last ten seconds in which a task waited."""
    percent = _first_number(path, "some avg10=")
    return None if percent is None else percent / 100


def _zones(root: Path) -> Iterator[Sensor]:
    for folder in numbered_folders(root / "sys/class/thermal", "thermal_zone").values():
        name, reading = read_text(folder / "type") or "", read_number(folder / "temp")
        if reading is not None and any(word in name.lower() for word in PROCESSOR_ZONES):
            yield Sensor(name, reading / 1000, _lowest_trip(folder))


def _lowest_trip(folder: Path) -> float | None:
    """The temperature at which a zone slows the processor down, ignoring unset trip points (0 or below)."""
    slowing = [path for path in folder.glob("trip_point_*_type") if read_text(path) in SLOWING_TRIPS]
    trips = [read_number(path.with_name(path.name.replace("_type", "_temp"))) for path in slowing]
    return min((trip / 1000 for trip in trips if trip is not None and trip > 0), default=None)


def _monitors(root: Path) -> Iterator[Sensor]:
    for folder in numbered_folders(root / "sys/class/hwmon", "hwmon").values():
        name = read_text(folder / "name") or ""
        for path in sorted(folder.glob("temp*_input")) if name in PROCESSOR_DRIVERS else ():
            reading, limit = read_number(path), read_number(path.with_name(path.name.replace("_input", "_crit")))
            if reading is not None:
                yield Sensor(name, reading / 1000, limit / 1000 if limit and limit > 0 else None)


def _chosen(path: Path) -> str | None:
    """The word in brackets: 'always [madvise] never'."""
    match = re.search(r"\[(\w+)\]", read_text(path) or "")
    return match[1] if match else None


def _first_number(path: Path, before: str = "") -> float | None:
    """The number at the beginning of a file, after some text."""
    match = re.match(before + r"(\d+(?:\.\d+)?)", read_text(path) or "")
    return float(match[1]) if match else None


def examine(topology: Topology, root: Path = HERE) -> list[Finding]:
    """The findings of the doctor, with recent activity on this machine only."""
    try:
        vitals = read_vitals(root, (lambda: time.sleep(SECONDS_BETWEEN_READINGS)) if root == HERE else None)
    except ValueError as error:  # a number of thousands of digits
        raise MachineError(f"the recording in {root} cannot be parsed: {error}; the recording is damaged") from error
    return list(findings(topology, vitals, os.environ))
