import os
from math import inf

import pytest

from scaling.machine import kernel_files
from scaling.machine.kernel_files import (
    bandwidth_count,
    cpuset,
    memory_headroom,
    numbered_folders,
    quota_cpus,
    quota_parents,
    read_text,
)
from tests.scaling.machine.invented import write

V2, CPU, CPUSET = "sys/fs/cgroup", "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpuset"
UNDER_V2 = {"proc/self/cgroup": "0::/a/b\n", f"{V2}/a/b/cgroup.procs": ""}
UNDER_V1 = {"proc/self/cgroup": "5:cpuset:/a/b\n4:cpu,cpuacct:/a/b\n1:name=systemd:/a/b\n"}


def test_padding_around_a_text_is_left_out(tmp_path):
    for padded in (b"0-3\n\0\0", b"0-3\r\n"):
        (tmp_path / "online").write_bytes(padded)
        assert read_text(tmp_path / "online") == "0-3"


def test_a_file_that_cannot_be_read_is_none(tmp_path):
    assert read_text(tmp_path / "missing") is None
    assert read_text(tmp_path) is None


def test_what_is_no_file_or_has_no_end_is_none(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    assert read_text(tmp_path / "pipe") is None
    assert read_text(tmp_path / "zeros") is None
    monkeypatch.setattr(kernel_files, "LONGEST_FILE", 3)
    (tmp_path / "long").write_text("four")
    assert read_text(tmp_path / "long") is None


def test_nothing_that_steers_a_terminal_is_read(tmp_path):
    (tmp_path / "cpuinfo").write_bytes(b"model name\t: \x1b]0;mine\x07 \xc2\x9b2J CPU\n")
    assert read_text(tmp_path / "cpuinfo") == "model name\t: \\x1b]0;mine\\x07 \\x9b2J CPU"


def test_folders_come_by_number_and_others_are_passed_over(tmp_path):
    for name in ("cpu10", "cpu2", "cpufreq", "cpu", "xcpu1"):
        (tmp_path / name).mkdir()
    assert numbered_folders(tmp_path, "cpu") == {2: tmp_path / "cpu2", 10: tmp_path / "cpu10"}
    assert numbered_folders(tmp_path / "missing", "cpu") == {}


def v1_quota(folder, quota, period=100_000):
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": f"{period}\n"}


def test_a_machine_without_control_groups_has_no_quota(tmp_path):
    assert (quota_cpus(tmp_path), cpuset(tmp_path), bandwidth_count(tmp_path, "nr_throttled")) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "quota"),
    [("50000 100000", 0.5), ("max 100000", None), ("max", None), ("250000 50000", 5), ("150000", 1.5)],
)
def test_version_2_gives_quota_and_period(tmp_path, text, quota):
    assert quota_cpus(write(tmp_path, UNDER_V2 | {f"{V2}/a/b/cpu.max": text + "\n"})) == quota


@pytest.mark.parametrize(("microseconds", "quota"), [(50_000, 0.5), (-1, None), (400_000, 4)])
def test_version_1_gives_quota_and_period(tmp_path, microseconds, quota):
    assert quota_cpus(write(tmp_path, UNDER_V1 | v1_quota(f"{CPU}/a/b", microseconds))) == quota


@pytest.mark.parametrize(("own", "above"), [("50000", "200000"), ("200000", "50000"), ("max", "50000")])
def test_the_tightest_group_on_the_way_up_wins_in_version_2(tmp_path, own, above):
    root = write(tmp_path, UNDER_V2 | {f"{V2}/a/b/cpu.max": f"{own} 100000", f"{V2}/a/cpu.max": f"{above} 100000"})
    assert quota_cpus(root) == 0.5


def test_the_tightest_group_on_the_way_up_wins_in_version_1(tmp_path):
    groups = v1_quota(f"{CPU}/a/b", 300_000) | v1_quota(f"{CPU}/a", 100_000, 50_000) | v1_quota(CPU, -1)
    assert quota_cpus(write(tmp_path, UNDER_V1 | groups)) == 2


def test_a_sister_group_does_not_matter(tmp_path):
    assert quota_cpus(write(tmp_path, UNDER_V2 | {f"{V2}/a/other/cpu.max": "1000 100000"})) is None


def test_a_container_sees_its_own_group_as_the_mount_where_its_path_leads_nowhere(tmp_path):
    texts = {
        "proc/self/cgroup": "0::/docker/0123abcd\n",
        f"{V2}/cpu.max": "150000 100000",
        f"{V2}/cpuset.cpus.effective": "2-3",
    }
    root = write(tmp_path, texts)
    assert (quota_cpus(root), cpuset(root)) == (1.5, {2, 3})


def test_a_container_of_version_1_sees_its_own_group_as_the_mount(tmp_path):
    texts = {"proc/self/cgroup": "4:cpu,cpuacct:/docker/0123abcd\n"} | v1_quota(CPU, 150_000)
    assert quota_cpus(write(tmp_path, texts)) == 1.5


@pytest.mark.parametrize("path", ["/../../other", "/.."])
def test_a_path_out_of_the_name_space_is_survived(tmp_path, path):
    texts = {"proc/self/cgroup": f"0::{path}\n", f"{V2}/cpu.max": "150000 100000"}
    assert quota_cpus(write(tmp_path, texts)) == 1.5


def test_the_cpu_controller_is_found_under_its_own_name_too(tmp_path):
    texts = {"proc/self/cgroup": "4:cpuacct,cpu:/job\n"} | v1_quota("sys/fs/cgroup/cpu/job", 50_000)
    assert quota_cpus(write(tmp_path, texts)) == 0.5


def test_other_controllers_of_version_1_are_not_asked(tmp_path):
    texts = {"proc/self/cgroup": "4:memory:/job\n"} | v1_quota("sys/fs/cgroup/memory/job", 50_000)
    assert quota_cpus(write(tmp_path, texts)) is None


def test_a_hybrid_tells_its_quota_under_version_1(tmp_path):
    texts = {"proc/self/cgroup": "4:cpu,cpuacct:/job\n0::/job\n", f"{V2}/unified/job/cgroup.procs": ""}
    assert quota_cpus(write(tmp_path, texts | v1_quota(f"{CPU}/job", 50_000))) == 0.5


def test_a_hybrid_may_have_handed_its_cpu_controller_to_version_2(tmp_path):
    texts = {"proc/self/cgroup": "4:memory:/job\n0::/job\n", f"{V2}/unified/job/cpu.max": "50000 100000"}
    assert quota_cpus(write(tmp_path, texts | {f"{V2}/memory/job/tasks": ""})) == 0.5


@pytest.mark.parametrize(
    ("texts", "cpus"),
    [
        (UNDER_V2 | {f"{V2}/a/b/cpuset.cpus.effective": "1-2\n", f"{V2}/cpuset.cpus.effective": "0-7\n"}, {1, 2}),
        (UNDER_V2 | {f"{V2}/a/cpuset.cpus.effective": "1-2\n", f"{V2}/cpuset.cpus.effective": "0-7\n"}, {1, 2}),
        (UNDER_V1 | {f"{CPUSET}/a/b/cpuset.effective_cpus": "1\n", f"{CPUSET}/a/b/cpuset.cpus": "0-1\n"}, {1}),
        (UNDER_V1 | {f"{CPUSET}/a/b/cpuset.cpus": "\n", f"{CPUSET}/a/cpuset.cpus": "0-1\n"}, {0, 1}),
    ],
    ids=["version 2", "version 2, controller only above", "version 1", "version 1, empty below"],
)
def test_the_nearest_group_that_says_gives_the_cpu_set(tmp_path, texts, cpus):
    assert cpuset(write(tmp_path, texts)) == cpus


@pytest.mark.parametrize(("under", "folder"), [(UNDER_V2, f"{V2}/a/b"), (UNDER_V1, f"{CPU}/a/b")])
def test_throttled_periods_are_counted(tmp_path, under, folder):
    texts = {f"{folder}/cpu.stat": "usage_usec 12\nnr_periods 23\nnr_throttled 21\nthrottled_usec 7\n"}
    root = write(tmp_path, under | texts)
    assert (bandwidth_count(root, "nr_throttled"), bandwidth_count(root, "nr_periods")) == (21, 23)


MEMORY = "sys/fs/cgroup/memory"


@pytest.mark.parametrize(
    "texts",
    [
        UNDER_V2
        | {f"{V2}/a/memory.max": "1000\n", f"{V2}/a/memory.current": "900\n", f"{V2}/a/b/memory.max": "max\n"}
        | {f"{V2}/a/memory.stat": "anon 200\nfile 700\ninactive_file 400\nactive_file 250\nshmem 50\n"},
        {"proc/self/cgroup": "6:memory:/a\n"}
        | {f"{MEMORY}/a/memory.limit_in_bytes": "1000\n", f"{MEMORY}/a/memory.usage_in_bytes": "900\n"}
        | {f"{MEMORY}/a/memory.stat": "active_file 1\ntotal_inactive_file 400\ntotal_active_file 250\n"},
    ],
    ids=["version 2", "version 1"],
)
def test_cached_files_leave_room_in_the_memory_of_a_group(tmp_path, texts):
    assert memory_headroom(write(tmp_path, texts)) == 750


def test_a_group_that_counts_no_cache_has_only_what_it_does_not_use(tmp_path):
    used = {f"{V2}/a/b/memory.max": "1000\n", f"{V2}/a/b/memory.current": "900\n"}
    assert memory_headroom(write(tmp_path, UNDER_V2 | used)) == 100
    fuller = {f"{V2}/a/memory.max": "2000\n", f"{V2}/a/memory.current": "1970\n"}
    assert memory_headroom(write(tmp_path, UNDER_V2 | used | fuller)) == 30
    assert memory_headroom(tmp_path / "without groups") == inf


def test_groups_with_a_quota_may_be_made_below_any_group_of_version_1(tmp_path):
    root = write(tmp_path, UNDER_V1 | v1_quota(f"{CPU}/a/b", -1) | v1_quota(CPU, -1))
    assert quota_parents(root) == [root / CPU / "a/b", root / CPU]


def test_groups_with_a_quota_may_be_made_where_version_2_hands_the_controller_down(tmp_path):
    handed_down = {f"{V2}/a/cgroup.subtree_control": "cpu memory\n", f"{V2}/a/b/cgroup.subtree_control": "memory\n"}
    root = write(tmp_path, UNDER_V2 | handed_down)
    assert quota_parents(root) == [root / V2 / "a"]
    assert quota_parents(write(tmp_path / "other", UNDER_V2)) == []
