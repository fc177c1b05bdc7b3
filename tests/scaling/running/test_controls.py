"""Controls are set, read back, and restored however a sweep ends: by itself, by an error, by a signal, or killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.shared.power import NVML, gpu_state, packages, write
from scaling.errors import BusyError, MachineError, StudyError
from scaling.machine import controls
from scaling.running.controls import LOCK, HeldControls
from scaling.running.lock import MachineLock

LIMIT = "sys/class/powercap/intel-rapl:{}/constraint_{}_power_limit_uw"
CLOCK = "sys/devices/system/cpu/cpufreq/policy{}/scaling_max_freq"

SWEEP = """
import sys
from pathlib import Path
from benchmarks.shared.machines import study
from scaling.api.measuring import interruptible
from scaling.machine.sysfs import read_machine, read_topology
from scaling.running.local import LocalEngine
from scaling.study.planning import plan

topology = read_topology()
caps = dict(cpu_power_watts="90", cpu_max_mhz="2000", gpu_power_watts="300", gpu_max_mhz="1200")
question = study('workloads = ["command: true"]', cores="1", launches="1", energy="none", **caps)
with (
    interruptible(lambda: "nothing") as check,
    LocalEngine(question, topology, read_machine(topology), root=Path(sys.argv[1])) as engine,
):
    row = next(iter(engine.execute(plan(question, topology).runs)))
    print(row.outcome.status, row.run.point.cpu_power_watts, flush=True)
    words = sys.stdin.readline()
    check()
    if words == "fail\\n":
        raise RuntimeError("as asked")
"""


@pytest.fixture
def root(tmp_path):
    packages(tmp_path)
    return tmp_path


def values(root: Path) -> tuple[list[str], list[str]]:
    limits = [(root / LIMIT.format(package, kind)).read_text().strip() for package in (0, 1) for kind in (0, 1)]
    return limits, clocks(root)


def clocks(root: Path) -> list[str]:
    return [(root / CLOCK.format(cpu)).read_text().strip() for cpu in range(4)]


UNTOUCHED = (["150000000", "180000000"] * 2, ["3800000"] * 4)


WATTS, CLOCK_AND_WATTS = {"cpu_power_watts": [90.0]}, {"cpu_power_watts": [90.0], "cpu_max_mhz": [2000.0]}


def test_caps_are_set_on_every_package_and_clock_and_restored(root):
    held = HeldControls(CLOCK_AND_WATTS, root)
    both = (("cpu_power_watts", 90.0), ("cpu_max_mhz", 2000.0))
    assert held.apply(both)
    assert values(root) == (["90000000"] * 4, ["2000000"] * 4)
    assert not held.apply(both)
    assert held.apply(both[:1])
    assert values(root) == (["90000000"] * 4, UNTOUCHED[1])
    assert held.close() == []
    assert values(root) == UNTOUCHED


def test_what_cannot_be_restored_is_named_and_the_rest_is_restored(root):
    held = HeldControls(CLOCK_AND_WATTS, root)
    held.apply((("cpu_power_watts", 90.0), ("cpu_max_mhz", 2000.0)))
    first = root / LIMIT.format(0, 0)
    first.unlink()
    first.mkdir()
    (problem,) = held.close()
    assert problem.startswith(f"cpu_power_watts could not be set back to 150000000 in {first}: ")
    assert (root / LIMIT.format(1, 0)).read_text().strip() == "150000000"
    assert clocks(root) == UNTOUCHED[1]


def test_a_clock_may_follow_its_cap_after_a_while(root, monkeypatch):
    class Slow:
        label, clocks = "gpu 0", [1980.0, 1980.0, 1155.0]

        def highest_mhz(self) -> float:
            return 1980.0

        def mhz(self) -> float:
            return self.clocks.pop(0)

        def set_highest_mhz(self, mhz: float) -> None:
            assert mhz == 1200.0

        def reset_highest_mhz(self) -> None:
            pass

    gpu = Slow()
    monkeypatch.setattr(controls, "find_gpu", lambda environment=None: gpu)
    held = HeldControls({"gpu_max_mhz": [1200.0]}, root)
    assert held.apply((("gpu_max_mhz", 1200.0),))
    assert gpu.clocks == []
    assert held.close() == []


def test_a_cap_that_does_not_hold_is_refused(root, monkeypatch):
    held = HeldControls(WATTS, root)
    monkeypatch.setattr(controls.KernelFiles, "apply", lambda self, part, value: None)  # as firmware that ignores it
    with pytest.raises(StudyError, match=r"cpu_power_watts = 90 was .* 150 was"):
        held.apply((("cpu_power_watts", 90.0),))
    held.close()


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"cpu_power_watts": [250.0]}, r"cpu_power_watts = 250 was .* 0 to 200"),
        ({"cpu_max_mhz": [500.0]}, r"cpu_max_mhz = 500 was .* 800 to 3800"),
    ],
)
def test_a_cap_that_the_machine_does_not_take_is_refused(root, wanted, sentence):
    with pytest.raises(StudyError, match=sentence):
        HeldControls(wanted, root)
    assert values(root) == UNTOUCHED
    HeldControls(WATTS, root).close()


def test_caps_are_refused_where_there_is_nothing_to_set(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()

    def no_gpu():
        raise MachineError("no GPU")

    monkeypatch.setattr(controls, "find_gpu", no_gpu)
    for name in ("cpu_power_watts", "cpu_max_mhz", "gpu_power_watts"):
        with pytest.raises(StudyError, match=f"{name} cannot be set"):
            HeldControls({name: [1000.0]}, tmp_path)


def test_caps_are_refused_where_only_root_may_set_them(root, monkeypatch):
    def refuse(path, text):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", refuse)
        with pytest.raises(StudyError, match="only root may set cpu_power_watts"):
            HeldControls(WATTS, root)


def test_limits_that_are_switched_off_are_refused(root):
    write(root, {"sys/class/powercap/intel-rapl:0/enabled": 0})
    with pytest.raises(StudyError, match="package 0"):
        HeldControls(WATTS, root)


def test_one_sweep_at_a_time_holds_the_controls(root):
    held = HeldControls(WATTS, root)
    another = rf"another sweep is using the controls of this machine: .*process {os.getpid()} "
    with pytest.raises(BusyError, match=another):
        HeldControls(WATTS, root)
    held.close()
    HeldControls(WATTS, root).close()


@pytest.mark.parametrize("end", ["by itself", "by an error", "SIGINT", "SIGTERM", "SIGKILL"])
def test_caps_are_restored_after_every_kind_of_end(root, end, monkeypatch):
    state = gpu_state(root / "gpu.json")
    environment = {**os.environ, "PYTHONPATH": f"{NVML}:{Path.cwd()}", "INVENTED_NVML": str(state)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    sweep = subprocess.Popen([sys.executable, "-c", SWEEP, str(root)], env=environment, text=True, **pipes)
    with sweep:
        assert sweep.stdout.readline() == "ok 90.0\n"
        assert values(root) == (["90000000"] * 4, ["2000000"] * 4)
        gpu = json.loads(state.read_text())
        assert (gpu["limit"], gpu["mhz"]) == (300, 1200)
        if end.startswith("SIG"):
            sweep.send_signal(getattr(signal, end))
        sweep.communicate("fail\n" if end == "by an error" else "\n")
    MachineLock(True, lambda sentence: None, root / LOCK).release()  # free once the reaper has ended
    assert values(root) == UNTOUCHED
    gpu = json.loads(state.read_text())
    assert (gpu["limit"], gpu["mhz"]) == (700, None)


def test_a_gpu_whose_limit_may_not_be_set_is_refused(root, monkeypatch):
    monkeypatch.syspath_prepend(str(NVML))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.setenv("INVENTED_NVML", str(gpu_state(root / "gpu.json", permitted=False)))
    with pytest.raises(StudyError, match="only root may set gpu_power_watts"):
        HeldControls({"gpu_power_watts": [300.0]}, root)
    sys.modules.pop("pynvml", None)
