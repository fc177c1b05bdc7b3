"""The doctor's judgement: planted faults are named and nothing else, on invented machines and recorded ones."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.cpulist import parse_list
from scaling.machine.doctor import health
from scaling.machine.doctor.counters import Span
from scaling.machine.doctor.findings import STATES, Finding, verdict, worst_first
from scaling.machine.doctor.procfs import read_vitals
from scaling.machine.doctor.vitals import Clock
from tests.scaling.cli.here import scaling
from tests.scaling.machine.doctor.examined import EVERYTHING, HEALTHY, PLANTED, WHOLE, Fault, examine
from tests.scaling.machine.invented import GB10, HYBRID, TWO_SOCKETS, files, machines, many_trees, told, write

QUIET = Span("just now")
EIGHT = parse_list("0-7")


def states(found: dict[str, Finding]) -> dict[str, str]:
    return {name: finding.state for name, finding in found.items()}


def test_a_healthy_machine_is_found_healthy():
    found = examine(Fault(""))
    assert {name for name, state in states(found).items() if state != "ok"} == {"SMT"}
    assert found["SMT"].state == verdict(found.values()) == "caution"


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_named_and_nothing_else_is(name):
    healthy, found = examine(Fault("")), examine(PLANTED[name])
    assert found[name].state in ("spoiler", "caution")
    assert PLANTED[name].words in found[name].value
    assert found[name].remedy
    assert states(found) | {name: "ok"} == states(healthy)


def test_all_eight_planted_faults_are_named_together():
    found = examine(EVERYTHING)
    assert len(PLANTED) == 8
    assert {name for name, state in states(found).items() if state in ("spoiler", "caution")} == {*PLANTED, "SMT"}
    assert verdict(found.values()) == "spoiler"


class TestQuota:
    def test_a_quota_as_wide_as_the_mask_does_no_harm(self):
        machine = replace(told(WHOLE), quota_cpus=8.0)
        assert health.quota(machine, True, QUIET).state == "ok"

    def test_periods_that_ran_out_are_counted(self):
        machine = replace(told(WHOLE), quota_cpus=1.5)
        found = health.quota(machine, True, replace(QUIET, throttled_periods=7))
        assert (found.state, "ran out in 7 periods just now" in found.value) == ("spoiler", True)

    def test_without_control_groups_nothing_is_known(self):
        assert health.quota(told(WHOLE), False, QUIET).state == "not available"


class TestCpuset:
    @pytest.mark.parametrize(
        ("allowed", "state"),
        [("0-7", "ok"), ("0-3", "spoiler"), ("0,4", "caution"), ("0-1,4-5", "caution"), ("0-6", "spoiler")],
    )
    def test_a_divided_core_is_worse_than_a_smaller_machine(self, allowed, state):
        assert health.cpuset(told(replace(WHOLE, allowed=parse_list(allowed))), True).state == state

    def test_isolated_cpus_are_no_hole(self):
        assert health.cpuset(told(replace(WHOLE, isolated=parse_list("3,7"))), True).state == "ok"

    def test_many_divided_cores_are_not_all_listed(self):
        wide = replace(WHOLE, cores=tuple(frozenset({cpu, cpu + 9}) for cpu in range(9)), allowed=parse_list("0-8"))
        assert health.cpuset(told(wide), True).value.endswith("divides 9 core(s): 0,9; 1,10; 2,11; 3,12; …")


class TestOffline:
    @pytest.mark.parametrize(
        ("control", "state"), [("off", "ok"), ("forceoff", "ok"), ("on", "caution"), (None, "caution")]
    )
    def test_siblings_that_are_off_with_smt_are_as_they_should_be(self, control, state):
        assert health.offline(told(replace(WHOLE, offline=parse_list("4-7"))), control).state == state

    def test_a_core_that_is_off_beside_smt_is_told(self):
        assert health.offline(told(replace(WHOLE, offline=parse_list("3-7"))), "off").state == "caution"


class TestIsolated:
    @pytest.mark.parametrize(
        ("isolated", "allowed", "state"),
        [("", "0-7", "ok"), ("6-7", "0-7", "caution"), ("6-7", "6-7", "spoiler"), ("6-7", "6", "caution")],
    )
    def test_a_run_confined_to_isolated_cpus_is_spoilt(self, isolated, allowed, state):
        machine = told(replace(WHOLE, isolated=parse_list(isolated), allowed=parse_list(allowed)))
        assert health.isolated(machine, True).state == state

    def test_a_kernel_that_shows_no_list_tells_nothing(self):
        assert health.isolated(told(WHOLE), False).state == "not available"


class TestThreadVariables:
    @pytest.mark.parametrize(
        ("variables", "state"),
        [
            ({}, "ok"),
            ({"PATH": "/bin", "OMP_DISPLAY_ENV": "true"}, "ok"),
            ({"OMP_NUM_THREADS": "8"}, "caution"),
            ({"OMP_NUM_THREADS": "4, 2"}, "caution"),
            ({"TF_NUM_INTEROP_THREADS": "0"}, "caution"),
            ({"OMP_PROC_BIND": "close", "KMP_AFFINITY": "compact"}, "caution"),
            ({"OMP_NUM_THREADS": "9"}, "spoiler"),
            ({"OMP_NUM_THREADS": "4,4"}, "spoiler"),
            ({"OMP_NUM_THREADS": "0"}, "spoiler"),
            ({"MKL_NUM_THREADS": "four"}, "spoiler"),
            ({"OPENBLAS_NUM_THREADS": ""}, "spoiler"),
            ({"TF_NUM_INTRAOP_THREADS": "-1"}, "spoiler"),
            ({"OMP_NUM_THREADS": "9" * 5000}, "spoiler"),
        ],
    )
    def test_a_wrong_number_is_worse_than_one_that_is_set(self, variables, state):
        assert health.thread_variables(EIGHT, variables).state == state

    @given(st.dictionaries(st.sampled_from(health.THREAD_COUNTS + health.THREAD_HABITS), st.text(), min_size=1))
    def test_whatever_a_shell_has_set_is_named_in_print(self, variables):
        found = health.thread_variables(EIGHT, variables)
        assert found.state in ("caution", "spoiler")
        assert any(name in found.value for name in variables)
        assert found.value.isprintable()


class TestGovernor:
    @pytest.mark.parametrize(
        ("governor", "driver", "state"),
        [
            ("performance", "acpi-cpufreq", "ok"),
            ("performance", None, "ok"),
            ("powersave", "intel_pstate", "caution"),
            ("powersave", "amd-pstate-epp", "caution"),
            ("userspace", "acpi-cpufreq", "caution"),
            ("powersave", "acpi-cpufreq", "spoiler"),
            ("powersave", "intel_cpufreq", "spoiler"),
            ("ondemand", "acpi-cpufreq", "spoiler"),
            ("schedutil", "cppc_cpufreq", "spoiler"),
        ],
    )
    def test_a_clock_that_follows_the_load_spoils(self, governor, driver, state):
        assert health.governor(EIGHT, [Clock(cpu, governor, driver) for cpu in range(8)]).state == state

    def test_cpus_that_are_governed_differently_spoil_though_each_be_mild(self):
        clocks = [Clock(0, "performance", "intel_pstate"), Clock(1, "powersave", "intel_pstate")]
        found = health.governor(EIGHT, clocks)
        assert found.state == "spoiler"
        assert found.value == "performance on CPUs 0 (intel_pstate); powersave on CPUs 1 (intel_pstate)"

    def test_cpus_that_are_not_ours_do_not_matter(self):
        assert health.governor(parse_list("0"), [Clock(0, "performance"), Clock(1, "ondemand")]).state == "ok"


class TestSetup:
    @pytest.mark.parametrize(("on", "state"), [(True, "caution"), (False, "ok"), (None, "not available")])
    def test_turbo(self, on, state):
        assert health.turbo(on).state == state

    @pytest.mark.parametrize(("machine", "state"), [(TWO_SOCKETS, "caution"), (GB10, "ok")])
    def test_more_than_one_thread_a_core_is_to_be_known(self, machine, state):
        assert health.smt(told(machine)).state == state

    def test_kinds_of_core_matter_where_more_than_one_may_be_used(self):
        assert health.core_types(told(HYBRID)).value == "core: 0-7; atom: 8-15"
        assert health.core_types(told(HYBRID)).state == "caution"
        assert health.core_types(told(replace(HYBRID, allowed=parse_list("8-15")))).state == "ok"
        assert health.core_types(told(TWO_SOCKETS)).state == "ok"

    @pytest.mark.parametrize(
        ("mode", "state"), [("always", "caution"), ("madvise", "ok"), ("never", "ok"), (None, "not available")]
    )
    def test_huge_pages(self, mode, state):
        assert health.huge_pages(mode).state == state

    @pytest.mark.parametrize(
        ("machine", "mode", "state"),
        [
            (TWO_SOCKETS, 1, "caution"),
            (TWO_SOCKETS, 2, "caution"),
            (TWO_SOCKETS, 0, "ok"),
            (GB10, 1, "ok"),
            (TWO_SOCKETS, None, "not available"),
        ],
    )
    def test_numa_balancing_matters_with_two_nodes(self, machine, mode, state):
        assert health.numa_balancing(told(machine), mode).state == state

    @pytest.mark.parametrize(("mode", "state"), [(2, "ok"), (1, "ok"), (0, "caution"), (None, "not available")])
    def test_fixed_addresses_are_to_be_known(self, mode, state):
        assert health.addresses(mode).state == state

    @pytest.mark.parametrize(("guest", "state"), [(True, "caution"), (False, "ok"), (None, "not available")])
    def test_a_virtual_machine_is_to_be_known(self, guest, state):
        assert health.virtual(guest).state == state


def test_findings_are_ordered_by_what_they_do():
    found = worst_first(examine(EVERYTHING).values())
    assert [finding.state for finding in found] == sorted((finding.state for finding in found), key=STATES.index)


def test_what_is_not_available_makes_no_verdict():
    assert verdict([health.turbo(None)]) == "ok"


@many_trees
@given(
    machines(), st.sets(st.sampled_from(sorted(HEALTHY))), st.sampled_from(["", "x", "-1", "9\n9", "cpu0 1", "a: b"])
)
def test_any_machine_with_any_files_missing_or_damaged_can_be_examined(tmp_path_factory, machine, damaged, damage):
    texts = files(machine) | {path: text for path, text in HEALTHY.items() if path not in damaged}
    root = write(tmp_path_factory.mktemp("machine"), texts)
    for path in damaged if damage else ():
        write(root, {path: damage})
    found = health.findings(told(machine), read_vitals(root), {})
    assert len({finding.name for finding in found}) == len(found) == 21
    assert all(finding.value and finding.why for finding in found)
    assert all((finding.remedy is None) == (finding.state in ("ok", "not available")) for finding in found)


def test_a_recorded_machine_can_be_examined(recorded):
    answer = scaling("doctor", "--root", recorded.root)
    assert answer.returncode in (0, 1)
    assert answer.stderr == ""
    assert "cannot be seen" in answer.stdout
    offline = recorded.topology.present - recorded.topology.online
    assert ("caution  offline CPUs: " in answer.stdout) == bool(offline)
