"""What masks mean, without a file: the understanding half of the reader."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.topology import (
    HIGHEST_CPU,
    CoreType,
    CpuMasks,
    CpuSet,
    Node,
    Topology,
    format_list,
    ordered_list,
    parse_list,
    parse_mask,
    topology,
)
from tests.scaling.machine.invented import HYBRID, machines, many_machines, topology_of

cpu_sets = st.frozensets(st.integers(0, 300))


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


def test_a_machine_without_core_types_has_cores_of_one_kind():
    assert made(*map(CpuMasks, range(4))).facts()["core_kinds"] == 1
    assert topology_of(HYBRID).facts()["core_kinds"] == 2


def test_facts_count_unlike_cores():
    facts = topology_of(HYBRID).facts()
    assert facts["cores_by_smt"] == {"1": 8, "2": 4}
    assert facts["kinds"] == {"core": "0-7", "atom": "8-15"}
    assert (facts["sockets"], facts["cores"], facts["l3_groups"], facts["cluster_or_l2_groups"]) == (1, 12, 1, 6)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("0", {0}),
        ("0-3,8", {0, 1, 2, 3, 8}),
        (" 0-1 , 4\n", {0, 1, 4}),
        ("0-15,88-89", {*range(16), 88, 89}),
        ("5-5", {5}),
    ],
)
def test_a_list_names_single_cpus_and_ranges(text, cpus):
    assert parse_list(text) == cpus


@pytest.mark.parametrize("text", [f"0-{'9' * 9999}", ",".join(["0-65535"] * 20), "x" * 10**6])
def test_an_endless_list_is_refused_in_a_short_sentence(text):
    with pytest.raises(ValueError, match="CPU") as refused:
        parse_list(text)
    assert len(str(refused.value)) < 200


def test_a_mask_is_as_wide_as_a_machine_may_be():
    assert parse_mask("1," + "0" * (HIGHEST_CPU // 4)) == {4 * (HIGHEST_CPU // 4)}
    assert parse_mask("0" * 10**6 + "3") == {0, 1}
    with pytest.raises(ValueError, match="more than 65536 CPUs"):
        parse_mask("f" * 10**6)


@pytest.mark.parametrize("text", ["x", "3-", "-3", "3-1", "1-2-3", "0.5", "1;2", "0x3", "-", "1 2", "0-3:2/4"])
def test_rubbish_is_no_list(text):
    with pytest.raises(ValueError, match="CPU number"):
        parse_list(text)


def test_a_slip_of_the_pen_does_not_eat_the_memory():
    with pytest.raises(ValueError, match=str(HIGHEST_CPU)):
        parse_list("0-99999999999")


def test_an_ordered_list_keeps_the_written_order_and_each_cpu_once():
    assert ordered_list("5,0-2,1,4,5") == (5, 0, 1, 2, 4)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", set()),
        ("1", {0}),
        ("f0", {4, 5, 6, 7}),
        ("00000001,00000000", {32}),
        ("ff000000,00000000,00000003", {0, 1, *range(88, 96)}),
    ],
)
def test_a_mask_has_a_bit_for_each_cpu_in_words_of_32(text, cpus):
    assert parse_mask(text) == cpus


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([3], "3"), ([1, 0], "0-1"), ([0, 1, 2, 3, 8], "0-3,8"), ([0, 2, 4], "0,2,4")]
)
def test_a_set_is_written_the_way_the_kernel_does(cpus, text):
    assert format_list(cpus) == text


@many_machines
@given(cpu_sets)
def test_what_is_written_as_a_list_reads_back(cpus):
    assert parse_list(format_list(cpus)) == cpus


@many_machines
@given(cpu_sets)
def test_a_mask_and_a_list_of_the_same_cpus_are_equal(cpus):
    assert parse_mask(f"{sum(1 << cpu for cpu in cpus):x}") == cpus


@many_machines
@given(st.lists(st.integers(0, 300), unique=True))
def test_an_ordered_list_reads_back_in_its_order(cpus):
    assert ordered_list(",".join(map(str, cpus))) == tuple(cpus)
