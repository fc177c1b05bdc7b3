"""Control groups with a CPU quota: those of an invented machine, and real ones where they can be made."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.analysis import rules
from scaling.errors import StudyError
from scaling.machine.kernel_files import quota_parents
from scaling.results.rows import launch_of
from scaling.running import control_groups
from scaling.running.control_groups import ControlGroups, join, remove_all
from tests.conftest import need
from tests.runs import rows_of
from tests.scaling.machine.invented import write

V1 = {"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"}
V2 = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.subtree_control": "cpu\n"}


@pytest.fixture
def groups_can_be_made():
    """This machine lets us make groups with a quota and groups for processes."""
    need(_can_make_groups(), "root, or the controllers cpu and pids delegated")


def _can_make_groups() -> bool:
    try:
        ControlGroups([1.0], "probe")
    except StudyError:
        return False
    return True


def test_version_2_has_quota_and_period_in_one_file(tmp_path):
    root = write(tmp_path, V2)
    groups = ControlGroups([0.5, 1.5], "mark", root)
    assert groups.parent == root / "sys/fs/cgroup"
    made = groups.make(1.5)
    assert (Path(made) / "cpu.max").read_text() == "150000 100000"
    join(made)
    assert (Path(made) / "cgroup.procs").read_text() == "0"


def test_a_machine_without_the_cpu_controller_is_refused(tmp_path):
    with pytest.raises(StudyError, match="cpu controller"):
        ControlGroups([0.5, 2.0], "mark", write(tmp_path, {"proc/self/cgroup": "0::/\n"}))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    root = write(tmp_path, V1)
    (root / "sys/fs/cgroup/cpu").chmod(0o555)
    with pytest.raises(StudyError, match="sys/fs/cgroup/cpu: Permission denied"):
        ControlGroups([1.0], "mark", root)


def guard_of(root: Path, group: str, **files: str) -> Path | None:
    """The guard made in an invented machine, whose kernel gives every group below a group these files."""
    groups, make = ControlGroups([], "mark", root), Path.mkdir
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Path, "mkdir", lambda path: make(path) or [(path / name).write_text(text) for name, text in files.items()]
        )
        groups.make_guard()
    assert groups.guard is None or Path(groups.guard).parent == root / group
    return groups.guard and Path(groups.guard)


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        ({}, control_groups.PROCESSES_PER_CPU * os.cpu_count()),
        ({"proc/sys/kernel/pid_max": "700\n", "proc/loadavg": "0.1 0.2 0.3 2/100 4711\n"}, 300),
        ({"sys/fs/cgroup/pids/a/pids.max": "60\n", "sys/fs/cgroup/pids/a/pids.current": "20\n"}, 20),
        ({"sys/fs/cgroup/pids/a/pids.max": "max\n"}, control_groups.PROCESSES_PER_CPU * os.cpu_count()),
    ],
)
def test_the_guard_of_version_1_leaves_others_half_of_the_processes(tmp_path, limits, limit):
    files = {"proc/self/cgroup": "2:pids:/a\n0::/\n", "sys/fs/cgroup/pids/a/cgroup.procs": "", **limits}
    guard = guard_of(write(tmp_path, files), "sys/fs/cgroup/pids/a", **{"pids.max": "max"})
    assert (guard / "pids.max").read_text() == str(limit)


@pytest.mark.parametrize(("enabled", "made"), [("", True), ("pids\n", True), ("cpu pids\n", False)])
def test_the_guard_of_version_2_is_below_a_group_with_no_other_controllers(tmp_path, enabled, made):
    files = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cgroup.subtree_control": enabled}
    guard = guard_of(write(tmp_path, files), "sys/fs/cgroup/a", **{"cgroup.freeze": "0"})
    assert (guard is not None) is made


def test_a_machine_without_groups_has_no_guard(tmp_path):
    assert guard_of(write(tmp_path, {"proc/self/cgroup": "0::/\n"}), "") is None


def real_guard(mark: str) -> Path:
    groups = ControlGroups([], mark)
    groups.make_guard()
    need(groups.guard is not None, "a control group for processes")
    return Path(groups.guard)


@pytest.mark.usefixtures("groups_can_be_made")
def test_all_processes_of_a_real_guard_are_killed_except_the_spared():
    guard = real_guard("test-guard")
    try:
        (below := guard / "below").mkdir()
        with subprocess.Popen(["sleep", "60"]) as spared, subprocess.Popen(["sh", "-c", "sleep 60 & wait"]) as one:
            with subprocess.Popen(["sleep", "60"]) as other:
                for process, group in ((spared, guard), (one, guard), (other, below)):
                    control_groups.guard(str(group), process.pid)
                limit = (guard / "pids.max").read_text()
                control_groups.end_processes([str(guard)], {spared.pid})
            assert one.wait() == other.wait() == -signal.SIGKILL
            assert [*map(int, (guard / "cgroup.procs").read_text().split())] == [spared.pid]
            assert (guard / "pids.max").read_text() == limit
            control_groups.end_all("test-guard")
            assert spared.wait() == -signal.SIGKILL
    finally:
        remove_all("test-guard")
    assert not guard.exists()


@pytest.mark.usefixtures("groups_can_be_made")
def test_a_process_in_a_real_group_is_throttled_and_the_kernel_counts_it():
    groups = ControlGroups([0.05], "test-real")
    made = groups.make(0.05)
    code = (
        "import sys, time; from pathlib import Path\n"
        "from scaling.machine.kernel_files import bandwidth_count, quota_cpus\n"
        "from scaling.running.control_groups import join\n"
        "join(sys.argv[1]); before = time.process_time()\n"
        "while time.process_time() - before < 0.1: pass\n"
        "root = Path('/')\n"
        "print(quota_cpus(root), *(bandwidth_count(root, name) for name in ('nr_periods', 'nr_throttled')))\n"
    )
    said = subprocess.run([sys.executable, "-c", code, made], capture_output=True, text=True, check=True).stdout
    quota, periods, throttled = map(float, said.split())
    assert quota == 0.05
    assert periods >= throttled >= 3  # 100 ms of work at 5 ms per period
    groups.remove()
    assert not Path(made).exists()


@pytest.mark.usefixtures("groups_can_be_made")
def test_groups_that_a_sweep_has_left_are_removed_by_its_mark():
    groups = ControlGroups([1.0], "test-left")
    made, other = groups.make(1.0), ControlGroups([1.0], "test-other").make(1.0)
    remove_all("test-left")
    assert not Path(made).exists()
    assert Path(other).exists()
    remove_all("test-other")


@pytest.mark.usefixtures("groups_can_be_made")
def test_a_run_under_a_quota_is_throttled_and_its_row_counts_the_periods():
    rows = rows_of("calibrated work=1", quota=0.1, max_seconds=0.4, in_company=True)
    (free,) = {row.run.point.quota: row for row in rows if row.run.point.quota is None}.values()
    limited = next(row for row in rows if row.run.point.quota == 0.1)
    assert [row.outcome.status for row in rows] == ["ok"] * len(rows)
    assert limited.witness.throttled_periods > 0
    assert limited.witness.quota_periods >= limited.witness.throttled_periods
    assert free.witness.throttled_periods in (0, None)
    launch = launch_of(limited)
    assert 0 < launch.throttled_share <= 1
    assert not {doubt.rule for doubt in launch.doubts} & {rules.THROTTLED, rules.UNSTEADY, rules.WAITING}
    assert not any([*parent.glob("scaling-quota-*")] for parent in quota_parents(Path("/")))


@pytest.mark.usefixtures("groups_can_be_made")
def test_a_comparison_of_quotas_that_is_killed_leaves_no_group(tmp_path, own_lock):
    """Only one of its variants has a quota, and not the study that its engine was opened for."""
    started = tmp_path / "started"
    os.mkfifo(started)
    (tmp_path / "hangs.sh").write_text(f"echo > '{started}'; exec sleep 600")
    (tmp_path / "study.toml").write_text(f"workloads = [\"command: sh '{tmp_path}/hangs.sh'\"]\ncores = 1")
    command = [
        Path(sys.executable).with_name("scaling"),
        "compare",
        tmp_path / "study.toml",
        "-o",
        tmp_path / "results",
    ]
    with subprocess.Popen([*command, "--between", "quota=none", "quota=0.5"], stderr=subprocess.DEVNULL) as comparison:
        started.read_text()
        assert any([*parent.glob("scaling-quota-*")] for parent in quota_parents(Path("/")))
        comparison.kill()
    with own_lock.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the reaper has it until nothing is left
    assert not any([*parent.glob("scaling-quota-*")] for parent in quota_parents(Path("/")))
