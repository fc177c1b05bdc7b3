"""Which CPUs a run gets: the properties of every policy on any machine, and the answers on known ones."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scaling.errors import PlacementError
from scaling.machine.placement import POLICIES, Placement, Request, Sharing, divide, place, sharing, usable_cores
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import Cpus, CpuSet, Topology, parse_list
from tests.scaling.machine.hwloc import lstopo
from tests.scaling.machine.invented import (
    ASSORTED,
    GB10,
    HYBRID,
    LEVELS,
    POWER9,
    TWO_SOCKETS,
    UNEVEN,
    XEON_2680V3,
    Machine,
    files,
    groups,
    machines,
    many_machines,
    read_back,
    regular,
    subsets,
    topology_of,
    write,
)


def chosen(machine: Machine, cores: int, **settings: object) -> Placement:
    return place(topology_of(machine), Request(cores, **settings))


def shown(placement: Placement) -> str:
    """'0,16 1,17': cores in order, siblings joined by a comma."""
    return " ".join(",".join(map(str, group)) for group in placement.cpus)


def refused(machine: Machine, cores: int, **settings: object) -> str:
    with pytest.raises(PlacementError) as error:
        chosen(machine, cores, **settings)
    assert "\n" not in str(error.value)
    return str(error.value)


def numbers(message: str) -> set[int]:
    return set(map(int, re.findall(r"\d+", message)))


# --- properties of every policy on every machine ---


@st.composite
def machines_and_requests(draw: st.DrawFn) -> tuple[Machine, Request]:
    """A machine, and a request that leaves open how many cores."""
    machine = draw(machines())
    reserve = draw(st.just(frozenset()) | subsets(machine.present, at_most=3))
    return machine, Request(1, draw(st.integers(1, 3)), draw(st.sampled_from(POLICIES)), reserve=reserve)


def serving(machine: Machine, request: Request) -> set[Cpus]:
    """The cores that can serve a request, by the definition: wide enough, and none of their CPUs reserved."""
    return {
        core
        for core in machine.seen(machine.cores)
        if len(machine.usable & set(core)) >= request.smt and request.reserve.isdisjoint(core)
    }


def whole_order(machine: Machine, topology: Topology, request: Request) -> tuple[Cpus, ...]:
    """Every core that can serve, as the answer to asking for all of them."""
    count = len(serving(machine, request))
    return place(topology, replace(request, cores=count)).cpus if count else ()


def ahead_by_at_most_one(order: tuple[Cpus, ...], sisters: list[CpuSet]) -> bool:
    """Whether no group, at any moment, has over one core more than a sister that has some left."""
    totals = [sum(core[0] in group for core in order) for group in sisters]
    for taken in range(len(order) + 1):
        counts = [sum(core[0] in group for core in order[:taken]) for group in sisters]
        unfinished = [count for count, total in zip(counts, totals, strict=True) if count < total]
        if unfinished and max(counts) > min(unfinished) + 1:
            return False
    return True


def families(machine: Machine) -> list[list[CpuSet]]:
    """The groups right inside each group, found by inclusion alone."""
    every = {machine.online}.union(*map(machine.level, LEVELS))
    inside = {group: [other for other in every if other < group] for group in every}
    return [[group for group in within if not any(group < other for other in within)] for within in inside.values()]


@many_machines
@given(machines_and_requests())
def test_an_answer_is_so_many_cores_of_so_many_usable_cpus_each(case):
    machine, request = case
    can_serve = serving(machine, request)
    order = whole_order(machine, topology_of(machine), request)
    assert {core for core in can_serve for group in order if set(group) <= set(core)} == can_serve
    assert len(order) == len(can_serve)
    assert all(len(set(group)) == request.smt and machine.usable.issuperset(group) for group in order)


@many_machines
@given(machines_and_requests())
def test_of_each_core_the_lowest_cpus_are_taken(case):
    machine, request = case
    core_of = {cpu: core for core in machine.cores for cpu in core}
    for group in whole_order(machine, topology_of(machine), request):
        assert list(group) == sorted(core_of[group[0]] & machine.usable)[: request.smt]


@many_machines
@given(machines_and_requests())
def test_fewer_cores_are_the_first_of_more_cores(case):
    machine, request = case
    topology = topology_of(machine)
    answers = [place(topology, replace(request, cores=n)).cpus for n in range(1, len(serving(machine, request)) + 1)]
    assert all(more[:-1] == fewer for fewer, more in pairwise(answers))


@many_machines
@given(machines_and_requests())
def test_a_count_the_machine_lacks_is_refused_with_the_count_there_is(case):
    machine, request = case
    there_are = len(serving(machine, request))
    with pytest.raises(PlacementError) as error:
        place(topology_of(machine), replace(request, cores=there_are + 1))
    assert f"only {there_are} usable cores" in str(error.value)


@many_machines
@given(machines(), st.sampled_from(POLICIES))
def test_a_width_the_machine_lacks_is_refused_and_not_cut(machine, policy):
    widths = [len(core) for core in machine.seen(machine.cores)]
    with pytest.raises(PlacementError) as error:
        place(topology_of(machine), Request(1, max(widths) + 1, policy))
    assert {widths.count(max(widths)), max(widths)} <= numbers(str(error.value))


@many_machines
@given(machines_and_requests())
def test_scatter_never_runs_ahead_of_an_unfinished_sister_at_any_level(case):
    machine, request = case
    order = whole_order(machine, topology_of(machine), replace(request, placement="scatter"))
    assert all(ahead_by_at_most_one(order, sisters) for sisters in families(machine))


@many_machines
@given(machines_and_requests(), st.sampled_from(LEVELS))
def test_scatter_by_level_never_runs_ahead_at_that_level_and_is_compact_inside(case, level):
    machine, request = case
    topology = topology_of(machine)
    order = whole_order(machine, topology, replace(request, placement=f"scatter:{level}"))
    compact = whole_order(machine, topology, replace(request, placement="compact"))
    assert ahead_by_at_most_one(order, list(machine.level(level)))
    for group in machine.level(level):
        assert [core for core in order if core[0] in group] == [core for core in compact if core[0] in group]


@many_machines
@given(machines_and_requests())
def test_compact_finishes_every_group_it_has_begun(case):
    machine, request = case
    order = whole_order(machine, topology_of(machine), replace(request, placement="compact"))
    for group in set().union(*map(machine.level, LEVELS)):
        places = [place for place, core in enumerate(order) if core[0] in group]
        assert all(later == earlier + 1 for earlier, later in pairwise(places))


@many_machines
@given(machines_and_requests())
def test_compact_takes_sisters_in_the_order_of_their_lowest_cpu_reserved_or_not(case):
    machine, request = case
    order = whole_order(machine, topology_of(machine), replace(request, placement="compact"))
    for sisters in families(machine):
        ranks = [min(group) for core in order for group in sisters if core[0] in group]
        assert ranks == sorted(ranks)


@many_machines
@given(machines_and_requests())
def test_reserving_cpus_leaves_the_other_cores_in_compact_order(case):
    machine, request = case
    topology, compact = topology_of(machine), replace(request, placement="compact")
    free = whole_order(machine, topology, replace(compact, reserve=frozenset()))
    unreserved = serving(machine, compact)
    expected = tuple(group for group in free if any(set(group) <= set(core) for core in unreserved))
    assert whole_order(machine, topology, compact) == expected


@many_machines
@given(machines(), st.data())
def test_an_explicit_list_of_usable_cpus_is_answered_in_its_own_order(machine, data):
    assume(machine.usable)
    listed = data.draw(st.lists(st.sampled_from(sorted(machine.usable)), min_size=1, unique=True))
    topology = topology_of(machine)
    first_of_core = list({topology.core_of()[cpu]: cpu for cpu in reversed(listed)}.values())
    firsts = sorted(first_of_core, key=listed.index)
    answer = place(topology, Request(len(firsts), placement=f"cpus:{','.join(map(str, listed))}"))
    assert list(answer.flat) == firsts


# --- known machines ---


def request_from(text: str) -> Request:
    """'compact 4 cores SMT1 reserve 0' as a request."""
    policy, cores, _, smt, *reserve = text.split()
    return Request(int(cores), int(smt.removeprefix("SMT")), policy, reserve=parse_list("".join(reserve[1:])))


def answer(topology: Topology, request: Request) -> list[list[int]] | None:
    try:
        return [list(group) for group in place(topology, request).cpus]
    except PlacementError:
        return None


def test_recorded_machines_answer_every_request_as_expected(recorded):
    answers = {text: answer(recorded.topology, request_from(text)) for text in recorded.placements}
    assert answers == recorded.placements


KNOWN = [
    (GB10, "compact 4 cores SMT1", "0 1 2 3"),
    (GB10, "scatter 4 cores SMT1", "0 10 1 11"),
    (GB10, "scatter:socket 4 cores SMT1", "0 1 2 3"),
    (GB10, "scatter:l3 4 cores SMT1", "0 10 1 11"),
    (GB10, "compact 2 cores SMT2", "refused"),
    (GB10, "compact 4 cores SMT1 reserve 0", "1 2 3 4"),
    (POWER9, "compact 4 cores SMT1", "0 4 8 12"),
    (POWER9, "scatter 4 cores SMT1", "0 88 8 96"),
    (POWER9, "scatter 4 cores SMT2", "0,1 88,89 8,9 96,97"),
    (POWER9, "scatter:numa 4 cores SMT1", "0 88 4 92"),
    (POWER9, "scatter:cluster 4 cores SMT1", "0 8 88 96"),
    (POWER9, "compact 2 cores SMT4", "0,1,2,3 4,5,6,7"),
    (POWER9, "compact 2 cores SMT8", "refused"),
    (POWER9, "compact 10 cores SMT1", "refused"),
    (POWER9, "compact 4 cores SMT1 reserve 0", "4 8 12 88"),
    (XEON_2680V3, "compact 10 cores SMT1", "4 6 8 10 12 14 16 18 20 5"),
    (XEON_2680V3, "scatter 10 cores SMT1", "4 5 6 7 8 9 10 11 12 13"),
    (XEON_2680V3, "scatter:numa 4 cores SMT1", "4 5 6 7"),
    (XEON_2680V3, "compact 4 cores SMT1 reserve 0", "4 6 8 10"),
    (XEON_2680V3, "compact 2 cores SMT2", "refused"),
    (HYBRID, "compact 10 cores SMT1", "0 2 4 6 8 9 10 11 12 13"),
    (HYBRID, "scatter 10 cores SMT1", "0 2 4 6 8 12 9 13 10 14"),
    (HYBRID, "compact 4 cores SMT2", "0,1 2,3 4,5 6,7"),
    (HYBRID, "compact 5 cores SMT2", "refused"),
]


@pytest.mark.parametrize(("machine", "text", "cpus"), KNOWN, ids=[text for _, text, _ in KNOWN])
def test_machines_that_exist_answer_as_expected(machine, text, cpus):
    topology = read_back(machine)
    if cpus == "refused":
        assert answer(topology, request_from(text)) is None
    else:
        assert shown(place(topology, request_from(text))) == cpus


def test_a_node_that_holds_two_sockets_is_scattered_over_as_one():
    assert shown(chosen(UNEVEN, 8, placement="scatter")) == "0 2 6 3 1 4 7 5"


def test_a_node_that_holds_two_sockets_is_filled_before_the_next():
    assert shown(chosen(UNEVEN, 8)) == "0 1 6 7 2 3 4 5"


def agrees_with_hwloc(root, topology):
    every = Request(len(topology.cores))
    order = [topology.core_of()[group[0]] for group in place(replace(topology, allowed=topology.online), every).cpus]
    assert list(lstopo(root).cores) == order


def test_compact_is_hwlocs_own_order_on_recorded_machines(recorded):
    agrees_with_hwloc(recorded.root, recorded.topology)


@pytest.mark.parametrize("machine", ASSORTED.values(), ids=ASSORTED)
def test_compact_is_hwlocs_own_order_on_invented_machines(tmp_path, machine):
    root = write(tmp_path, files(machine))
    agrees_with_hwloc(root, read_topology(root))


# --- the parts of a request ---


def test_a_reserved_cpu_spoils_its_whole_core():
    assert shown(chosen(TWO_SOCKETS, 3, reserve=parse_list("4"))) == "1 2 3"
    assert "CPU 4 reserved" in refused(TWO_SOCKETS, 4, reserve=parse_list("4"))


@pytest.mark.parametrize("policy", POLICIES)
def test_isolated_cpus_are_not_used_unasked(policy):
    machine = replace(TWO_SOCKETS, isolated=parse_list("1,5"))
    assert {1, 5}.isdisjoint(chosen(machine, 3, placement=policy).flat)
    assert "only 3 usable cores" in refused(machine, 4, placement=policy)


def test_isolated_cpus_are_used_when_named_and_a_caution_says_so():
    machine = replace(TWO_SOCKETS, isolated=parse_list("1,5"), allowed=parse_list("0,2-4,6-7"))
    placement = chosen(machine, 2, placement="cpus:1,0")
    assert placement.flat == (1, 0)
    assert any("CPU 1 is isolated" in caution for caution in placement.cautions)


def test_isolated_cpus_outside_the_cpu_set_are_refused_even_when_named():
    partition = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpuset.cpus.effective": "0,2-7\n"}
    topology = read_back(replace(TWO_SOCKETS, isolated=parse_list("1")), partition)
    with pytest.raises(PlacementError, match="CPU 1 is outside"):
        place(topology, Request(1, placement="cpus:1"))


def test_only_allowed_cpus_are_used_and_a_refusal_names_them():
    machine = replace(TWO_SOCKETS, allowed=parse_list("2-3,6"))
    assert shown(chosen(machine, 2)) == "2 3"
    assert shown(chosen(machine, 1, smt=2)) == "2,6"
    assert "CPUs 2-3,6 allowed" in refused(machine, 3)


NUMA_MACHINE = replace(
    regular(counts=(2, 2, 2, 1), cores=1, smt=(1,)),
    nodes={0: parse_list("0-1"), 1: parse_list("2-3"), 8: parse_list("4-5"), 9: parse_list("6-7"), 250: frozenset()},
    dies=groups("0-3 4-7"),
)


@pytest.mark.parametrize(
    ("within", "cpus"),
    [("N", "0 1 2 3 4 5 6 7"), ("S1", "4 5 6 7"), ("D0", "0 1 2 3"), ("M8", "4 5"), ("C3", "3")],
)
def test_a_run_stays_within_its_domain(within, cpus):
    count = len(cpus.split())
    assert shown(chosen(NUMA_MACHINE, count, within=within)) == cpus
    assert f"only {count} usable cores" in refused(NUMA_MACHINE, count + 1, within=within)


def test_scatter_within_a_domain_scatters_over_its_groups():
    assert shown(chosen(NUMA_MACHINE, 4, within="S1", placement="scatter")) == "4 6 5 7"


def test_sockets_and_caches_count_by_lowest_cpu_and_nodes_by_the_kernels_number():
    machine = Machine(
        cores=groups("0 1 2 3"), sockets=groups("1,3 0,2"), l3s=groups("1,3 0,2"), nodes={0: {1, 3}, 1: {0, 2}}
    )
    assert [shown(chosen(machine, 2, within=within)) for within in ("S0", "C0", "M0")] == ["0 2", "0 2", "1 3"]


def test_without_an_l3_the_last_level_cache_is_the_l2():
    machine = replace(TWO_SOCKETS, l3s=(), clusters=groups("0-1,4-5 2-3,6-7"))
    assert shown(chosen(machine, 2, within="C1")) == "2 3"


def test_a_core_type_can_be_chosen():
    assert shown(chosen(HYBRID, 2, core_type="atom")) == "8 9"
    assert shown(chosen(GB10, 6, core_type="0x00000000410fd851")) == "5 6 7 8 9 15"
    assert "only 4 usable cores" in refused(HYBRID, 5, core_type="core")


def test_mixed_core_types_are_taken_and_a_caution_counts_them():
    assert any("4 core, 1 atom" in caution for caution in chosen(HYBRID, 5).cautions)
    assert chosen(HYBRID, 4).cautions == ()
    assert chosen(HYBRID, 5, core_type="atom").cautions == ()


@pytest.mark.parametrize("version", [1, 2])
def test_a_quota_below_the_cpus_chosen_is_a_caution(version):
    machine = replace(TWO_SOCKETS, quota_cpus=2.5, cgroup_version=version)
    assert chosen(machine, 2).cautions == ()
    assert any("2.5" in caution and "4 CPUs" in caution for caution in chosen(machine, 2, smt=2).cautions)


# --- explicit lists ---


def test_an_explicit_list_keeps_the_users_order():
    assert shown(chosen(TWO_SOCKETS, 4, placement="cpus:3,0,2,1")) == "3 0 2 1"
    assert shown(chosen(TWO_SOCKETS, 2, smt=2, placement="cpus:7,3,0,4")) == "7,3 0,4"


def test_an_explicit_list_is_counted_in_cores_and_siblings_as_they_are():
    assert "only 1 usable cores" in refused(TWO_SOCKETS, 2, placement="cpus:0,4")
    assert "only 1 usable cores" in refused(TWO_SOCKETS, 2, smt=2, placement="cpus:0,4,1")


def test_an_explicit_list_of_cpus_that_may_not_be_used_is_refused():
    machine = replace(TWO_SOCKETS, offline=parse_list("7"), allowed=parse_list("0-4"))
    assert "5-6" in refused(machine, 1, placement="cpus:0,5-6")


def test_a_reserved_cpu_spoils_its_core_in_an_explicit_list_too():
    assert "only 1 usable cores" in refused(TWO_SOCKETS, 2, placement="cpus:0,1", reserve=parse_list("4"))


# --- what comes with an answer ---


@pytest.mark.parametrize(
    ("cores", "smt", "policy", "short"),
    [(4, 2, "compact", "2s,2c,2t"), (3, 1, "scatter", "2s,2+1c,1t"), (2, 1, "compact", "1s,2c,1t")],
)
def test_a_short_print_counts_sockets_cores_and_threads(cores, smt, policy, short):
    assert chosen(TWO_SOCKETS, cores, smt=smt, placement=policy).short == short


def test_all_usable_cores_can_be_listed_without_asking_for_a_count():
    assert usable_cores(topology_of(HYBRID), Request(1, 2)) == ((0, 1), (2, 3), (4, 5), (6, 7))


@given(machines(), st.sampled_from(POLICIES), st.integers(1, 2**32))
def test_a_variant_has_the_same_shape_on_other_cores(machine, policy, variant):
    topology = topology_of(machine)
    count = len(usable_cores(topology, Request(1, placement=policy)))
    assume(count)
    for cores in {1, count // 2 or 1, count}:
        usual = place(topology, Request(cores, placement=policy))
        other = place(topology, Request(cores, placement=policy, variant=variant))
        assert sorted(map(len, other.cpus)) == sorted(map(len, usual.cpus))
        assert len(other.cautions) == len(usual.cautions)
        for groups_of_level in (topology.sockets, topology.l3s, topology.clusters):
            assert cores_per_group(other, groups_of_level) == cores_per_group(usual, groups_of_level)


def cores_per_group(placement: Placement, groups_of_level: tuple[Cpus, ...]) -> list[int]:
    return sorted(sum(core[0] in group for core in placement.cpus) for group in groups_of_level)


def test_variants_are_nested_and_use_every_core():
    topology = topology_of(TWO_SOCKETS)
    first = set()
    for variant in range(1, 40):
        orders = [place(topology, Request(cores, variant=variant)).cpus for cores in (1, 2, 4)]
        assert all(larger[: len(smaller)] == smaller for smaller, larger in pairwise(orders))
        first.add(orders[0][0])
    assert len(first) > len(topology.cores) / 2


# --- the cores of a machine divided among replicas ---


def divided(machine: Machine, cores: int, replicas: int, **settings: object) -> str:
    """'0 1 | 2 3': the cores of each replica, siblings joined by a comma."""
    groups = divide(topology_of(machine), Request(cores, **settings), replicas)
    return " | ".join(" ".join(",".join(map(str, core)) for core in group) for group in groups)


# Two sockets, each with two caches of three cores.
CACHES_OF_THREE = regular(counts=(2, 1, 2, 1), cores=3, smt=(2,), numbering="far")


@pytest.mark.parametrize(
    ("cores", "replicas", "answer"),
    [
        (3, 4, "0 1 2 | 3 4 5 | 6 7 8 | 9 10 11"),
        (6, 2, "0 1 2 3 4 5 | 6 7 8 9 10 11"),
        # Pairs within a cache first; what is left over of two caches makes a pair within their socket.
        (2, 6, "0 1 | 3 4 | 2 5 | 6 7 | 9 10 | 8 11"),
        # Four cores are in no cache, and within a socket as long as it has them.
        (4, 3, "0 1 2 3 | 6 7 8 9 | 4 5 10 11"),
        (3, 2, "0 1 2 | 3 4 5"),
    ],
)
def test_replicas_stay_within_a_cache_and_a_socket_where_they_can(cores, replicas, answer):
    assert divided(CACHES_OF_THREE, cores, replicas) == answer


def test_scattered_replicas_are_on_different_sockets_and_caches_first():
    assert divided(CACHES_OF_THREE, 3, 2, placement="scatter") == "0 1 2 | 6 7 8"
    assert (
        divided(CACHES_OF_THREE, 2, 4, placement="scatter:l3", smt=2)
        == "0,12 1,13 | 3,15 4,16 | 6,18 7,19 | 9,21 10,22"
    )
    assert divided(CACHES_OF_THREE, 2, 2, placement="cpus:5,1,9,0") == "5 1 | 9 0"


def test_what_replicas_share_is_counted():
    topology = topology_of(CACHES_OF_THREE)

    def shared(cores: int, replicas: int) -> set[Sharing]:
        return {*sharing(topology, divide(topology, Request(cores), replicas))}

    assert shared(1, 12) == {Sharing(core=0, l3=2, node=5, socket=5)}
    assert shared(3, 4) == {Sharing(core=0, l3=0, node=1, socket=1)}
    assert shared(6, 2) == {Sharing(core=0, l3=0, node=0, socket=0)}
    assert sharing(topology, [[(0,)], [(12,)]])[0].core == 1


@given(machine=machines(), chance=st.randoms(use_true_random=False), placement=st.sampled_from(POLICIES))
def test_every_division_is_of_usable_cores_each_in_one_replica_and_aligned_as_its_first_variant(
    machine, chance, placement
):
    topology = topology_of(machine)
    usable = usable_cores(topology, Request(1, placement=placement))
    assume(usable)
    cores = chance.randint(1, len(usable))
    replicas = chance.randint(1, len(usable) // cores)
    first = divide(topology, Request(cores, placement=placement), replicas)
    other = divide(topology, Request(cores, placement=placement, variant=chance.randint(1, 99)), replicas)
    for division in (first, other):
        assert [len(group) for group in division] == [cores] * replicas
        taken = [core for group in division for core in group]
        assert len({*taken}) == len(taken)
        assert {*taken} <= {*usable}
    assert sharing(topology, first) == sharing(topology, other)
    with pytest.raises(PlacementError, match=f"replicas={len(usable) // cores + 1} of {cores} core"):
        divide(topology, Request(cores, placement=placement), len(usable) // cores + 1)


def test_recorded_machines_are_divided_without_crossing_a_cache_that_could_hold_a_replica(recorded):
    topology = recorded.topology
    cores = usable_cores(topology, Request(1))
    in_caches = [[core for core in cores if core[0] in cache] for cache in topology.l3s]
    for size in {len(cache) for cache in in_caches} - {0}:
        whole = sum(len(cache) // size for cache in in_caches)
        division = divide(topology, Request(size), whole)
        assert all(any({*group} <= {*cache} for cache in in_caches) for group in division)
