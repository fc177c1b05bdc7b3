"""The reader: invented machines, the rules learnt from real ones, recorded ones, and hwloc's opinion."""

import os
from dataclasses import replace

import pytest
from hypothesis import given

from scaling.errors import MachineError
from scaling.machine import sysfs
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import CoreType, Node, parse_list
from tests.scaling.machine.hwloc import lstopo
from tests.scaling.machine.invented import (
    ASSORTED,
    CPU_FOLDER,
    GB10,
    HYBRID,
    NODE_FOLDER,
    TWO_SOCKETS,
    Machine,
    files,
    groups,
    machines,
    many_trees,
    read_back,
    topology_of,
    write,
)


@many_trees
@given(machines())
def test_what_was_invented_is_what_is_read(machine):
    read = read_back(machine)
    assert (read.online, read.present, read.isolated) == (
        machine.online,
        machine.present,
        machine.isolated & machine.online,
    )
    assert read.cores == machine.seen(machine.cores)
    assert read.sockets == machine.seen(machine.sockets)
    assert read.l3s == machine.seen(machine.l3s)
    assert read.clusters == machine.seen(machine.clusters)
    assert {node.number: set(node.cpus) for node in read.nodes} == {
        number: cpus & machine.online for number, cpus in (machine.nodes or {}).items()
    }
    assert {core_type.name: set(core_type.cpus) for core_type in read.core_types} == {
        name: cpus & machine.online for name, cpus in machine.core_types.items() if cpus & machine.online
    }
    assert (read.allowed, read.quota_cpus) == (machine.usable, machine.quota_cpus)
    assert read == topology_of(machine)


HOSTILE = {
    f"{CPU_FOLDER}/online": ["0-" + "9" * 6000, ",".join(["0-65535"] * 100), "\x1b[2J"],
    f"{CPU_FOLDER}/cpu0/topology/core_cpus_list": ["f" * 10**5],
    "proc/self/status": ["Cpus_allowed_list: " + "0-9," * 10**6],
    "sys/fs/cgroup/cpu.max": ["100 0", "x", "9" * 5000],
}


@pytest.mark.parametrize(("path", "text"), [(path, text) for path, texts in HOSTILE.items() for text in texts])
def test_a_hostile_recording_is_refused_in_one_short_sentence(tmp_path, path, text):
    write(tmp_path, {**files(TWO_SOCKETS), "proc/self/cgroup": "0::/", path: text})
    with pytest.raises(MachineError, match="the recording is damaged") as refused:
        read_topology(tmp_path)
    assert len(str(refused.value)) < 300 + len(str(tmp_path))
    assert str(refused.value).isprintable()


def test_a_pipe_in_a_recording_is_not_waited_for(tmp_path):
    write(tmp_path, files(TWO_SOCKETS))
    for path in ("proc/cpuinfo", f"{CPU_FOLDER}/isolated"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).unlink(missing_ok=True)
        os.mkfifo(tmp_path / path)
    assert read_topology(tmp_path).cpu_model is None


def test_a_cpu_number_beyond_all_machines_is_refused(tmp_path):
    write(tmp_path, {**files(TWO_SOCKETS), f"{CPU_FOLDER}/cpu99999999999/online": "1"})
    with pytest.raises(MachineError, match="cpu99999999999, above the highest number 65535"):
        read_topology(tmp_path)


class TestRules:
    """Section by section what real machines have taught."""

    def test_1_core_and_package_ids_are_not_looked_at(self):
        ids = {
            f"{CPU_FOLDER}/cpu{cpu}/topology/{name}": "1"
            for cpu in TWO_SOCKETS.present
            for name in ("core_id", "physical_package_id")
        }
        assert read_back(TWO_SOCKETS, ids) == read_back(TWO_SOCKETS)

    @pytest.mark.parametrize(
        "name",
        ["thread_siblings", "thread_siblings_list", "core_siblings", "core_siblings_list", "core_cpus", "package_cpus"],
    )
    def test_2_a_newer_name_goes_before_an_older_and_a_list_before_a_mask(self, name):
        alone = {cpu: str(cpu) if name.endswith("list") else f"{1 << cpu:x}" for cpu in TWO_SOCKETS.present}
        lies = {f"{CPU_FOLDER}/cpu{cpu}/topology/{name}": text for cpu, text in alone.items()}
        assert read_back(TWO_SOCKETS, lies) == read_back(TWO_SOCKETS)

    @pytest.mark.parametrize("dialect", ["new", "old", "masks"])
    def test_2_every_dialect_of_the_kernel_says_the_same(self, dialect):
        assert read_back(replace(TWO_SOCKETS, dialect=dialect)) == read_back(TWO_SOCKETS)

    def test_2_a_reported_cluster_goes_before_who_shares_an_l2(self):
        machine = replace(TWO_SOCKETS, clusters=groups("0-1,4-5 2-3,6-7"))
        assert read_back(machine).clusters == ((0, 1, 4, 5), (2, 3, 6, 7))
        assert read_back(replace(machine, clusters=groups("0-7"), dialect="old")).clusters == (tuple(range(8)),)

    def test_2_a_cache_of_instructions_is_no_l3(self):
        index = f"{CPU_FOLDER}/cpu0/cache/index2"
        lies = {f"{index}/level": "3", f"{index}/type": "Instruction", f"{index}/shared_cpu_list": "0-7"}
        assert read_back(TWO_SOCKETS, lies).l3s == read_back(TWO_SOCKETS).l3s

    @pytest.mark.parametrize("stale", [False, True])
    @pytest.mark.parametrize("listed", [False, True])
    def test_3_an_offline_cpu_vanishes_from_every_group(self, stale, listed):
        machine = replace(TWO_SOCKETS, offline=parse_list("0,5"), stale_masks=stale, tells_online=listed)
        read = read_back(machine)
        assert read.online == parse_list("1-4,6-7")
        assert read.cores == ((1,), (2, 6), (3, 7), (4,))
        assert read.sockets == ((1, 4), (2, 3, 6, 7))

    def test_3_a_cpu_is_offline_if_its_own_file_says_so(self):
        assert read_back(TWO_SOCKETS, {f"{CPU_FOLDER}/cpu5/online": "0\n"}).online == parse_list("0-4,6-7")

    def test_3_where_no_file_says_online_a_cpu_without_topology_is_offline(self, tmp_path):
        texts = files(replace(TWO_SOCKETS, offline=parse_list("5")))
        root = write(tmp_path, {path: text for path, text in texts.items() if not path.endswith("/online")})
        (root / CPU_FOLDER / "cpu5").mkdir()
        assert read_topology(root).online == parse_list("0-4,6-7")

    def test_3_possible_and_present_are_no_guide(self):
        machine = replace(TWO_SOCKETS, possible=parse_list("0-175"), offline=parse_list("7"))
        read = read_back(machine)
        assert (read.possible, read.present, read.online) == (parse_list("0-175"), parse_list("0-7"), parse_list("0-6"))

    def test_4_a_cpu_may_be_in_no_node_and_a_node_without_cpu_and_numbers_have_gaps(self):
        machine = replace(TWO_SOCKETS, nodes={8: parse_list("2-3,6-7"), 250: frozenset()})
        read = read_back(machine)
        assert read.nodes == (Node(8, (2, 3, 6, 7)), Node(250, ()))
        assert read.facts()["cpus_without_node"] == "0-1,4-5"

    def test_4_there_may_be_no_nodes_at_all(self):
        assert read_back(replace(TWO_SOCKETS, nodes=None)).nodes == ()

    def test_4_firmware_that_gives_every_node_all_cpus_means_the_lowest_node(self):
        everywhere = replace(TWO_SOCKETS, nodes=dict.fromkeys((0, 1, 16), TWO_SOCKETS.present))
        assert read_back(everywhere).nodes == (Node(0, tuple(range(8))), Node(1, ()), Node(16, ()))

    @pytest.mark.parametrize(
        ("sockets", "nodes", "l3s"),
        [
            ("0-1 2-3 4-5 6-7", "0-3 4-7", "0-1 2-3 4-5 6-7"),
            ("0-7", "0-1 2-3 4-5 6-7", "0-3 4-7"),
            ("0 1 2 3 4 5 6 7", "0-7", "0-7"),
        ],
        ids=["a node of two sockets", "an L3 of two nodes", "a socket a core"],
    )
    def test_5_no_level_need_hold_another(self, sockets, nodes, l3s):
        machine = Machine(
            cores=groups("0 1 2 3 4 5 6 7"),
            sockets=groups(sockets),
            nodes=dict(enumerate(groups(nodes))),
            l3s=groups(l3s),
        )
        read = read_back(machine)
        assert read.sockets == machine.seen(groups(sockets))
        assert tuple(node.cpus for node in read.nodes) == machine.seen(groups(nodes))
        assert read.l3s == machine.seen(groups(l3s))

    def test_6_intel_names_its_kinds_and_arm_numbers_them(self):
        assert read_back(HYBRID).core_types == (
            CoreType("core", tuple(range(8))),
            CoreType("atom", tuple(range(8, 16))),
        )
        assert [(core_type.name[-3:], len(core_type.cpus)) for core_type in read_back(GB10).core_types] == [
            ("871", 10),
            ("851", 10),
        ]

    def test_6_neither_capacity_nor_frequency_makes_a_kind(self):
        favoured = {f"{CPU_FOLDER}/cpu{cpu}/cpu_capacity": str(1024 - cpu) for cpu in TWO_SOCKETS.present}
        favoured |= {f"{CPU_FOLDER}/cpu{cpu}/cpufreq/cpuinfo_max_freq": str(cpu) for cpu in TWO_SOCKETS.present}
        assert read_back(TWO_SOCKETS, favoured).core_types == ()

    def test_6_an_intel_hybrid_that_names_no_kinds_has_none_known(self):
        assert read_back(replace(HYBRID, core_types={})).core_types == ()

    @pytest.mark.parametrize("dialect", ["new", "masks"])
    def test_7_padding_with_nul_bytes_is_stripped(self, dialect):
        machine = replace(TWO_SOCKETS, dialect=dialect, allowed=parse_list("0-3"), quota_cpus=1.5)
        assert read_back(replace(machine, nul_padded=True)) == read_back(machine)


@pytest.mark.parametrize(
    "path",
    [f"{CPU_FOLDER}/online", f"{CPU_FOLDER}/cpu0/topology/core_cpus_list", f"{NODE_FOLDER}/node0/cpulist"],
)
def test_a_damaged_recording_is_refused_and_the_file_named(path):
    with pytest.raises(MachineError, match=path):
        read_back(TWO_SOCKETS, {path: "0-\n"})


@pytest.mark.parametrize(
    "damage",
    [
        {"proc/self/status": "Cpus_allowed_list:\t0-\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpuset.cpus.effective": "0-\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "lots 100000\n"},
    ],
    ids=["mask", "cpuset", "quota"],
)
def test_a_damaged_recording_of_a_process_is_refused_too(damage):
    with pytest.raises(MachineError):
        read_back(TWO_SOCKETS, damage)


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("processor\t: 0\nmodel name\t: Xeon\n\nprocessor\t: 1\nmodel name\t: Other\n", "Xeon"),
        ("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
        ("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd85\n", "implementer 0x41 part 0xd85"),
        ("processor\t: 0\n", None),
    ],
)
def test_the_processor_is_named_where_the_kernel_names_it(cpuinfo, model):
    assert read_back(TWO_SOCKETS, {"proc/cpuinfo": cpuinfo}).cpu_model == model


def test_machines_with_the_same_gibibytes_of_memory_have_the_same_fingerprint(monkeypatch):
    def fingerprint(kib: int) -> str:
        monkeypatch.setattr(sysfs, "named_lines", lambda path: {"MemTotal": f"{kib} kB"})
        return read_machine(topology_of(HYBRID)).fingerprint

    assert fingerprint(64 << 20) == fingerprint((64 << 20) - 5000) != fingerprint(128 << 20)


def test_this_machine_can_be_read():
    read = read_topology()
    assert read.cores
    assert read.allowed <= read.online


def test_recorded_machines_have_the_expected_facts(recorded):
    read = recorded.topology.facts()
    assert {name: read[name] for name in recorded.facts} == recorded.facts


def agree_with_hwloc(root, read):
    seen = lstopo(root)
    assert sorted(seen.cores) == list(read.cores)
    assert sorted(seen.packages) == list(read.sockets)


def test_hwloc_sees_the_same_cores_and_sockets_on_recorded_machines(recorded):
    agree_with_hwloc(recorded.root, recorded.topology)


@pytest.mark.parametrize("machine", ASSORTED.values(), ids=ASSORTED)
def test_hwloc_sees_the_same_cores_and_sockets_on_invented_machines(tmp_path, machine):
    root = write(tmp_path, files(machine))
    agree_with_hwloc(root, read_topology(root))
