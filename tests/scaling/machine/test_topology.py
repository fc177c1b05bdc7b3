"""What masks mean, without a file: the understanding half of the reader."""

import json

from hypothesis import given

from scaling.machine.cpulist import CpuSet, parse_list
from scaling.machine.topology import CoreType, CpuMasks, Node, Topology, topology
from tests.scaling.machine.invented import HYBRID, machines, many_machines, topology_of


def made(*cpus: CpuMasks, online: str = "0-3", nodes: dict[int, CpuSet] | None = None, **more: CpuSet) -> Topology:
    everything = parse_list("0-3")
    return topology(cpus, nodes or {}, online=parse_list(online), present=everything, possible=everything, **more)


def pair(cpu: int, siblings: str) -> CpuMasks:
    return CpuMasks(cpu, core=parse_list(siblings))


@many_machines
@given(machines())
def test_cores_and_sockets_part_the_online_cpus(machine):
    read = topology_of(machine)
    for groups in (read.cores, read.sockets):
        assert sorted(cpu for group in groups for cpu in group) == sorted(machine.online)


@many_machines
@given(machines())
def test_no_cpu_is_in_two_groups_of_a_level_and_all_groups_are_online(machine):
    read = topology_of(machine)
    for groups in (
        read.l3s,
        read.clusters,
        read.dies,
        [node.cpus for node in read.nodes],
        [core_type.cpus for core_type in read.core_types],
    ):
        cpus = [cpu for group in groups for cpu in group]
        assert len(cpus) == len(set(cpus))
        assert read.online.issuperset(cpus)


def test_groups_are_ordered_by_their_lowest_cpu():
    assert made(pair(0, "0,3"), pair(3, "0,3"), pair(1, "1-2"), pair(2, "1-2")).cores == ((0, 3), (1, 2))


def test_where_masks_disagree_the_lowest_cpu_is_believed():
    assert made(pair(0, "0-1"), pair(1, "1-2"), pair(2, "1-2"), pair(3, "3")).cores == ((0, 1), (2,), (3,))


def test_a_cpu_without_topology_is_a_core_of_its_own_in_one_common_socket():
    alone = made()
    assert alone.cores == ((0,), (1,), (2,), (3,))
    assert alone.sockets == ((0, 1, 2, 3),)
    assert (alone.l3s, alone.clusters, alone.dies, alone.nodes, alone.core_types) == ((), (), (), (), ())


def test_an_offline_cpu_is_in_no_group():
    read = made(pair(0, "0-1"), pair(1, "0-1"), online="0,2-3", nodes={0: parse_list("0-3")})
    assert read.cores == ((0,), (2,), (3,))
    assert read.nodes == (Node(0, (0, 2, 3)),)


def test_a_cpu_in_two_nodes_is_in_the_lowest():
    every = parse_list("0-3")
    assert made(nodes={2: every, 0: every}).nodes == (Node(0, (0, 1, 2, 3)), Node(2, ()))


def test_kinds_are_gathered_by_name():
    read = made(
        CpuMasks(0, core_type="core"), CpuMasks(1, core_type="atom"), CpuMasks(2, core_type="core"), CpuMasks(3)
    )
    assert read.core_types == (CoreType("core", (0, 2)), CoreType("atom", (1,)))


def test_allowed_cpus_are_our_mask_without_offline_and_isolated_ones():
    assert made(online="0-2", mask=parse_list("1-3"), isolated=parse_list("2")).allowed == {1}


def test_isolated_cpus_are_reported_only_while_online():
    assert made(online="0-2", isolated=parse_list("2-3")).isolated == {2}


def test_a_process_put_on_isolated_cpus_alone_may_use_them():
    assert made(mask=parse_list("2-3"), isolated=parse_list("2-3")).allowed == {2, 3}


def test_reachable_cpus_are_those_of_the_cpu_set():
    assert made(cpuset=parse_list("0-1,9")).reachable == {0, 1}
    assert made().reachable == {0, 1, 2, 3}


def test_the_widest_core_and_the_core_of_a_cpu_are_known():
    read = made(pair(0, "0,2"), pair(1, "1"), pair(2, "0,2"), pair(3, "3"))
    assert read.widest_smt == 2
    assert read.core_of() == {0: (0, 2), 1: (1,), 2: (0, 2), 3: (3,)}


@many_machines
@given(machines())
def test_facts_survive_json(machine):
    facts = topology_of(machine).facts()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_facts_count_unlike_cores():
    facts = topology_of(HYBRID).facts()
    assert facts["cores_by_smt"] == {"1": 8, "2": 4}
    assert facts["kinds"] == {"core": "0-7", "atom": "8-15"}
    assert (facts["sockets"], facts["cores"], facts["l3_groups"], facts["cluster_or_l2_groups"]) == (1, 12, 1, 6)
