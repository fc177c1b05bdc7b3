"""The reader of vitals: every fact from its file, and None where the file is not there or is damaged."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.shared.power import packages
from scaling.errors import MachineError
from scaling.machine.doctor import procfs
from scaling.machine.doctor.checks import caps, energy_meters
from scaling.machine.doctor.procfs import examine, read_vitals
from scaling.machine.doctor.readings import Activity, Clock, Memory, Pressure, Sensor, Settings
from scaling.machine.gpus import NVIDIA_DEVICE, find_gpu
from scaling.machine.sysfs import HERE, read_topology
from tests.scaling.machine.doctor.examined import HEALTHY, stat
from tests.scaling.machine.invented import CPU_FOLDER, TWO_SOCKETS, files, write
from tests.scaling.machine.test_power import as_nobody

HWMON = "sys/class/hwmon/hwmon2"


def _trip(number: int, trip_type: str, millidegrees: int) -> dict[str, str]:
    return {f"trip_point_{number}_type": trip_type, f"trip_point_{number}_temp": str(millidegrees)}


def test_an_empty_folder_tells_nothing(tmp_path):
    read = read_vitals(tmp_path)
    assert read.settings == Settings()
    assert (read.recent.other_tasks, read.pressure, read.memory, read.sensors) == (None, Pressure(None, None), None, ())
    assert (read.recent.activity, read.recent.interrupts) == ((), {})
    assert (read.recent.swapped_pages_per_second, read.recent.throttled_periods) == (None, None)


@pytest.mark.parametrize("path", ["proc/sys/kernel/numa_balancing", "proc/interrupts", "proc/meminfo"])
def test_a_number_without_end_is_refused_in_one_sentence(tmp_path, path):
    number = "9" * 5000
    texts = {"proc/interrupts": f"CPU0\n1: {number}", "proc/meminfo": f"MemTotal: {number} kB"}
    root = write(tmp_path, {**files(TWO_SOCKETS), path: texts.get(path, number)})
    with pytest.raises(MachineError, match="cannot be parsed"):
        examine(read_topology(root), root)


def test_a_healthy_machine_is_read_in_full(tmp_path):
    read = read_vitals(write(tmp_path, HEALTHY))
    assert read.settings.clocks == tuple(Clock(cpu, "performance", "intel_pstate") for cpu in range(8))
    assert (read.settings.turbo, read.settings.smt_control, read.settings.huge_pages) == (False, "on", "madvise")
    assert (read.settings.numa_balancing, read.settings.address_randomness, read.settings.virtual) == (0, 2, False)
    assert (read.recent.other_tasks, read.pressure) == (0, Pressure(0.001, 0.0))
    assert read.memory == Memory(64 * 2**30, 60 * 2**30, 8 * 2**30, 0)
    assert read.sensors == (Sensor("x86_pkg_temp", 45, 95),)
    assert [activity.cpu for activity in read.recent.on(range(8))] == list(range(8))
    assert read.recent.swapped_pages_per_second == 12 / 3600


def test_a_task_that_was_there_for_a_moment_is_none(tmp_path):
    root = write(tmp_path, {"proc/stat": stat({}, running=4)})
    assert read_vitals(root).recent.other_tasks == 3
    assert read_vitals(root, lambda: write(root, {"proc/stat": stat({}, running=2)})).recent.other_tasks == 1


def test_a_recorded_machine_is_read_once_and_a_moving_one_twice(tmp_path):
    root = write(tmp_path, {"proc/uptime": "10.0", "proc/vmstat": "pswpin 5\npswpout 5\n"})
    assert read_vitals(root).recent == read_vitals(root).since_boot
    read = read_vitals(root, lambda: write(root, {"proc/uptime": "12.0", "proc/vmstat": "pswpin 9\npswpout 5\n"}))
    assert (read.recent.words, read.recent.swapped_pages_per_second) == ("just now", 2)
    assert (read.since_boot.words, read.since_boot.swapped_pages_per_second) == ("since boot", 14 / 12)


def test_ticks_of_a_guest_are_counted_once_and_waiting_for_a_disk_is_idle(tmp_path):
    root = write(tmp_path, {"proc/stat": "cpu  9 9 9\ncpu3 10 20 30 400 50 6 4 80 10 20\ncpufreq 1 2\n"})
    assert read_vitals(root).recent.activity == (Activity(3, busy=70 / 600, stolen=80 / 600),)


def test_interrupts_of_devices_are_summed_by_the_cpu_in_the_header(tmp_path):
    text = """           CPU0       CPU4
   0:         99         99  IO-APIC  2-edge  timer
  24:          1         20  PCI-MSI 1-edge  eth0-rx
  25:        300       4000  PCI-MSI 2-edge  eth0-tx
 LOC:       9999       9999  Local timer interrupts
 ERR:          0"""
    read = read_vitals(write(tmp_path, {"proc/interrupts": text, "proc/uptime": "1.0"}))
    assert read.recent.interrupts == {0: 301, 4: 4020}


@pytest.mark.parametrize(
    ("files", "turbo"),
    [
        ({"intel_pstate/no_turbo": "0"}, True),
        ({"intel_pstate/no_turbo": "1", "cpufreq/boost": "1"}, False),
        ({"cpufreq/boost": "1"}, True),
        ({"cpufreq/boost": "0"}, False),
        ({"cpu0/cpufreq/boost": "0", "cpu1/cpufreq/boost": "1"}, True),
        ({"cpufreq/boost": "perhaps"}, None),
    ],
)
def test_every_driver_has_a_switch_for_turbo_of_its_own(tmp_path, files, turbo):
    root = write(tmp_path, {f"{CPU_FOLDER}/{name}": text for name, text in files.items()})
    assert read_vitals(root).settings.turbo is turbo


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        ({"proc/cpuinfo": "processor : 0\nflags : fpu hypervisor sse\n"}, True),
        ({"proc/cpuinfo": "flags : fpu sse\n", "sys/class/dmi/id/product_name": "KVM"}, False),
        ({"proc/cpuinfo": "processor : 0\nplatform : pSeries\n"}, True),
        ({"proc/cpuinfo": "processor : 0\nplatform : PowerNV\n"}, False),
        ({"proc/cpuinfo": "CPU part : 0xd0c\n", "sys/class/dmi/id/product_name": "KVM Virtual Machine"}, True),
        ({"proc/cpuinfo": "CPU part : 0xd0c\n", "sys/class/dmi/id/product_name": "DGX GB10"}, False),
        ({"proc/cpuinfo": "CPU part : 0xd0c\n", "sys/hypervisor/type": "xen"}, True),
        ({"proc/cpuinfo": "CPU part : 0xd0c\n"}, None),
    ],
)
def test_a_guest_is_recognised_by_its_processor_or_else_by_its_firmware(tmp_path, files, virtual):
    assert read_vitals(write(tmp_path, files)).settings.virtual is virtual


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        (_trip(0, "critical", 105_000), 105),
        (_trip(0, "active", 50_000), None),
        (_trip(0, "passive", -274_000), None),
        ({**_trip(0, "critical", 105_000), **_trip(1, "passive", 85_000)}, 85),
    ],
)
def test_the_lowest_trip_point_that_slows_down_is_the_limit(tmp_path, files, limit):
    zone = {"type": "cpu-thermal", "temp": "61500", **files}
    root = write(tmp_path, {f"sys/class/thermal/thermal_zone0/{name}": text for name, text in zone.items()})
    assert read_vitals(root).sensors == (Sensor("cpu-thermal", 61.5, limit),)


def test_only_thermometers_of_the_processor_are_read(tmp_path):
    texts = {
        f"{HWMON}/name": "coretemp",
        f"{HWMON}/temp1_input": "52000",
        f"{HWMON}/temp1_crit": "100000",
        "sys/class/hwmon/hwmon3/name": "nvme",
        "sys/class/hwmon/hwmon3/temp1_input": "84000",
        "sys/class/thermal/thermal_zone0/type": "iwlwifi_1",
        "sys/class/thermal/thermal_zone0/temp": "84000",
    }
    assert read_vitals(write(tmp_path, texts)).sensors == (Sensor("coretemp", 52, 100),)


def test_throttled_periods_of_our_group_are_read(tmp_path):
    texts = {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.stat": "nr_periods 9\nnr_throttled 4\n"}
    assert read_vitals(write(tmp_path, texts)).recent.throttled_periods == 4
    texts = {"sys/fs/cgroup/job/cpu.stat": "nr_throttled many\n"}
    assert read_vitals(write(tmp_path, texts)).recent.throttled_periods is None


def test_this_machine_can_be_read():
    read = read_vitals(HERE, lambda: None)
    assert read.recent.other_tasks is not None
    assert read.since_boot.activity
    assert read.recent.words == "just now"


def power_findings(root: Path) -> list[tuple[str, str]]:
    power = read_vitals(root).power
    return [(one.state, one.value) for one in (energy_meters(power), caps(power))]


def test_meters_and_caps_are_told_with_their_ranges(tmp_path):
    packages(tmp_path, (0,))
    assert power_findings(tmp_path) == [
        ("ok", "package 0, dram 0"),
        ("ok", "cpu_power_watts to 200, cpu_max_mhz 800 to 3800"),
    ]


def test_meters_and_caps_for_root_alone_have_a_remedy():
    with TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        packages(root, (0,), dram=False)
        (root / "sys/class/powercap/intel-rapl:0/energy_uj").chmod(0)
        for limit in (*root.rglob("*_power_limit_uw"), *root.rglob("scaling_max_freq")):
            limit.chmod(0o444)
        with as_nobody():
            power = read_vitals(root).power
    meters, limits = energy_meters(power), caps(power)
    assert (meters.state, meters.value) == ("not available", "package 0 cannot be read")
    assert "chmod a+r" in meters.remedy
    assert limits.state == "not available"
    assert limits.value == "cpu_power_watts to 200 for root only, cpu_max_mhz 800 to 3800 for root only"
    assert limits.remedy.startswith("Run as root")


@pytest.fixture
def driver_of_a_gpu(tmp_path, monkeypatch):
    """A machine of its own with the driver of a GPU, which is taken for this one."""
    monkeypatch.setattr(procfs, "HERE", tmp_path)
    write(tmp_path, {NVIDIA_DEVICE: ""})
    return tmp_path


@pytest.mark.usefixtures("invented_gpu")
def test_a_gpu_is_a_meter_and_has_caps_with_their_ranges(driver_of_a_gpu, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    meters, limits = power_findings(driver_of_a_gpu)
    assert meters == ("ok", find_gpu().label)
    assert limits == ("ok", "gpu_power_watts 200 to 700, gpu_max_mhz to 1980")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    meters, limits = power_findings(driver_of_a_gpu)
    assert meters == ("ok", find_gpu().label)
    assert limits == (
        "not available",
        "gpu_power_watts 200 to 700 for root only, gpu_max_mhz to 1980 for root only",
    )


def test_a_gpu_without_the_library_that_reads_it_has_a_remedy(driver_of_a_gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    meters = energy_meters(read_vitals(driver_of_a_gpu).power)
    assert meters.state == "not available"
    assert meters.value.startswith("GPU (")
    assert "pip install '.[energy]'" in meters.remedy
