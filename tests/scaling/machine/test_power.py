"""Meters of invented machines: what is a meter, what cannot be read and why."""

import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.shared.power import packages, write
from scaling.errors import MachineError
from scaling.machine.gpus import find_gpu
from scaling.machine.power import LimitFile, common_range, find_meters, package_cpus


def test_packages_and_their_dram_are_meters_and_cores_are_not(tmp_path):
    packages(tmp_path)
    found = find_meters(tmp_path)
    assert [(meter.name, meter.domain, meter.package) for meter in found.meters] == [
        ("package 0", "package", 0),
        ("dram 0", "dram", 0),
        ("package 1", "package", 1),
        ("dram 1", "dram", 1),
    ]
    assert [meter.read().joules for meter in found.meters] == pytest.approx([0.001, 7e-6, 0.002, 7e-6])
    assert found.meters[1].range_joules == pytest.approx(65.712999)
    assert found.problems == ()
    assert package_cpus(tmp_path) == {0: {0, 1}, 1: {2, 3}}


def test_every_die_of_a_package_has_its_meter(tmp_path):
    for die in (0, 1):
        zone = f"sys/class/powercap/intel-rapl:{die}"
        write(tmp_path, {f"{zone}/name": f"package-0-die-{die}", f"{zone}/energy_uj": 1})
    assert [(meter.name, meter.package) for meter in find_meters(tmp_path).meters] == [
        ("package 0 die 0", 0),
        ("package 0 die 1", 0),
    ]


def test_a_counter_for_root_alone_is_explained_in_a_sentence():
    with TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        packages(root, (0,), dram=False)
        counter = root / "sys/class/powercap/intel-rapl:0/energy_uj"
        counter.chmod(0)
        with as_nobody():
            found = find_meters(root)
    assert found.meters == ()
    assert found.problems == (
        f"only root may read the energy of package 0 ({counter}); run as root, or have root run: chmod a+r {counter}",
    )


@contextmanager
def as_nobody():
    """Without the rights of root, which reads every file."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_counter_that_holds_no_number_is_no_meter(tmp_path):
    packages(tmp_path, (0,), dram=False)
    write(tmp_path, {"sys/class/powercap/intel-rapl:0/energy_uj": "none"})
    found = find_meters(tmp_path)
    assert found.meters == ()
    assert "contains 'none', not a number" in found.problems[0]


def test_a_power_meter_of_the_board_is_read_in_watts(tmp_path):
    write(
        tmp_path,
        {
            "sys/class/hwmon/hwmon0/name": "coretemp",
            "sys/class/hwmon/hwmon0/power1_input": 1,
            "sys/class/hwmon/hwmon1/name": "power_meter",
            "sys/class/hwmon/hwmon1/power1_average": 214_000_000,
            "sys/class/hwmon/hwmon2/name": "ibmpowernv",
            "sys/class/hwmon/hwmon2/power1_input": 70_000_000,
            "sys/class/hwmon/hwmon2/power1_label": "Chip 0 Vdd",
            "sys/class/hwmon/hwmon2/power2_input": 640_000_000,
            "sys/class/hwmon/hwmon2/power2_label": "System",
            "sys/class/hwmon/hwmon3/name": "power_meter",
            "sys/class/hwmon/hwmon3/power1_average": 300_000_000,
            "sys/class/hwmon/hwmon3/power1_input": 310_000_000,
        },
    )
    found = find_meters(tmp_path).meters
    assert {meter.domain for meter in found} == {"board"}
    assert [meter.read().watts for meter in found] == [214.0, 640.0, 310.0]


def test_a_machine_without_meters_has_none(tmp_path):
    assert find_meters(tmp_path).meters == ()
    assert find_meters(tmp_path).problems == ()


def test_a_gpu_counts_energy_or_shows_its_power_alone(invented_gpu):
    gpu = find_gpu({})
    assert gpu.label == "gpu 0"
    assert gpu.powers() == (600.0, 600.0)
    first = gpu.joules()
    assert first is not None
    invented_gpu(counts=False)
    assert gpu.joules() is None
    assert gpu.power_range() == (200.0, 700.0)


def test_a_gpu_that_is_not_there_is_refused(invented_gpu):
    with pytest.raises(MachineError, match="GPU cannot be read"):
        find_gpu({"CUDA_VISIBLE_DEVICES": "3"})


def test_a_limit_must_be_one_that_every_package_accepts():
    files = [
        LimitFile(Path(name), "1", low, high) for name, low, high in (("a", 10, 100), ("b", 20, 90), ("c", None, None))
    ]
    assert common_range(files) == (20, 90)
    assert common_range(files[2:]) == (None, None)
