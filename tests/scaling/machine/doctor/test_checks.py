"""The doctor's judgement: planted faults are named and nothing else, on invented machines and recorded ones."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.doctor import checks
from scaling.machine.doctor.findings import Finding, verdict
from scaling.machine.doctor.procfs import read_vitals
from scaling.machine.doctor.readings import Activity, Clock, Memory, Pressure, Sensor, Span
from scaling.machine.topology import parse_list
from tests.scaling.cli.here import scaling
from tests.scaling.machine.doctor.examined import EVERYTHING, HEALTHY, PLANTED, WHOLE, Fault, examine, interrupts, stat
from tests.scaling.machine.invented import GB10, HYBRID, TWO_SOCKETS, files, machines, many_trees, topology_of, write

QUIET = Span("just now")
EIGHT = parse_list("0-7")


def states(findings: dict[str, Finding]) -> dict[str, str]:
    return {name: finding.state for name, finding in findings.items()}


def test_a_healthy_machine_is_found_healthy():
    findings = examine(Fault())
    assert {name for name, state in states(findings).items() if state != "ok"} == {"SMT"}
    assert findings["SMT"].state == verdict(findings.values()) == "caution"


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_named_and_nothing_else_is(name):
    healthy, findings = examine(Fault()), examine(PLANTED[name])
    assert findings[name].state in ("spoiler", "caution")
    assert findings[name].remedy
    assert states(findings) | {name: "ok"} == states(healthy)


def test_all_eight_planted_faults_are_named_together():
    findings = examine(EVERYTHING)
    assert len(PLANTED) == 8
    assert {name for name, state in states(findings).items() if state in ("spoiler", "caution")} == {*PLANTED, "SMT"}
    assert verdict(findings.values()) == "spoiler"


class TestQuota:
    def test_a_quota_as_wide_as_the_mask_does_no_harm(self):
        machine = replace(topology_of(WHOLE), quota_cpus=8.0)
        assert checks.quota(machine, True, QUIET).state == "ok"

    def test_throttled_periods_are_counted(self):
        machine = replace(topology_of(WHOLE), quota_cpus=1.5)
        finding = checks.quota(machine, True, replace(QUIET, throttled_periods=7))
        assert (finding.state, "used up in 7" in finding.value) == ("spoiler", True)

    def test_without_control_groups_nothing_is_known(self):
        assert checks.quota(topology_of(WHOLE), False, QUIET).state == "not available"


class TestCpuset:
    @pytest.mark.parametrize(
        ("allowed", "state"),
        [("0-7", "ok"), ("0-3", "spoiler"), ("0,4", "caution"), ("0-1,4-5", "caution"), ("0-6", "spoiler")],
    )
    def test_a_divided_core_is_worse_than_a_smaller_machine(self, allowed, state):
        assert checks.cpuset(topology_of(replace(WHOLE, allowed=parse_list(allowed))), True).state == state

    def test_isolated_cpus_are_no_hole(self):
        assert checks.cpuset(topology_of(replace(WHOLE, isolated=parse_list("3,7"))), True).state == "ok"


class TestOffline:
    @pytest.mark.parametrize(
        ("control", "state"), [("off", "ok"), ("forceoff", "ok"), ("on", "caution"), (None, "caution")]
    )
    def test_siblings_that_are_off_with_smt_are_as_they_should_be(self, control, state):
        assert checks.offline(topology_of(replace(WHOLE, offline=parse_list("4-7"))), control).state == state

    def test_a_core_that_is_off_beside_smt_is_reported(self):
        assert checks.offline(topology_of(replace(WHOLE, offline=parse_list("3-7"))), "off").state == "caution"


class TestIsolated:
    @pytest.mark.parametrize(
        ("isolated", "allowed", "state"),
        [("", "0-7", "ok"), ("6-7", "0-7", "caution"), ("6-7", "6-7", "spoiler"), ("6-7", "6", "caution")],
    )
    def test_a_run_confined_to_isolated_cpus_is_spoilt(self, isolated, allowed, state):
        machine = topology_of(replace(WHOLE, isolated=parse_list(isolated), allowed=parse_list(allowed)))
        assert checks.isolated_cpus(machine, True).state == state

    def test_a_kernel_that_shows_no_list_tells_nothing(self):
        assert checks.isolated_cpus(topology_of(WHOLE), False).state == "not available"


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
        assert checks.thread_variables(EIGHT, variables).state == state

    @given(st.dictionaries(st.sampled_from(checks.THREAD_COUNTS + checks.THREAD_HABITS), st.text(), min_size=1))
    def test_whatever_a_shell_has_set_is_named_in_print(self, variables):
        finding = checks.thread_variables(EIGHT, variables)
        assert finding.state in ("caution", "spoiler")
        assert any(name in finding.value for name in variables)
        assert finding.value.isprintable()


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
        assert checks.governor(EIGHT, [Clock(cpu, governor, driver) for cpu in range(8)]).state == state

    def test_cpus_that_are_governed_differently_spoil_though_each_be_mild(self):
        clocks = [Clock(0, "performance", "intel_pstate"), Clock(1, "powersave", "intel_pstate")]
        finding = checks.governor(EIGHT, clocks)
        assert finding.state == "spoiler"
        assert finding.value == "performance on CPUs 0 (intel_pstate); powersave on CPUs 1 (intel_pstate)"

    def test_cpus_that_are_not_ours_do_not_matter(self):
        assert checks.governor(parse_list("0"), [Clock(0, "performance"), Clock(1, "ondemand")]).state == "ok"


class TestSetup:
    @pytest.mark.parametrize(("on", "state"), [(True, "caution"), (False, "ok"), (None, "not available")])
    def test_turbo(self, on, state):
        assert checks.turbo(on).state == state

    @pytest.mark.parametrize(("machine", "state"), [(TWO_SOCKETS, "caution"), (GB10, "ok")])
    def test_more_than_one_thread_per_core_is_to_be_known(self, machine, state):
        assert checks.smt(topology_of(machine)).state == state

    def test_core_types_matter_where_more_than_one_may_be_used(self):
        assert checks.core_types(topology_of(HYBRID)).value == "core: 0-7; atom: 8-15"
        assert checks.core_types(topology_of(HYBRID)).state == "caution"
        assert checks.core_types(topology_of(replace(HYBRID, allowed=parse_list("8-15")))).state == "ok"
        assert checks.core_types(topology_of(TWO_SOCKETS)).state == "ok"

    @pytest.mark.parametrize(
        ("mode", "state"), [("always", "caution"), ("madvise", "ok"), ("never", "ok"), (None, "not available")]
    )
    def test_huge_pages(self, mode, state):
        assert checks.huge_pages(mode).state == state

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
        assert checks.numa_balancing(topology_of(machine), mode).state == state

    @pytest.mark.parametrize(("mode", "state"), [(2, "ok"), (1, "ok"), (0, "caution"), (None, "not available")])
    def test_fixed_addresses_are_to_be_known(self, mode, state):
        assert checks.addresses(mode).state == state

    @pytest.mark.parametrize(("guest", "state"), [(True, "caution"), (False, "ok"), (None, "not available")])
    def test_a_virtual_machine_is_to_be_known(self, guest, state):
        assert checks.virtual(guest).state == state


@many_trees
@given(
    machines(), st.sets(st.sampled_from(sorted(HEALTHY))), st.sampled_from(["", "x", "-1", "9\n9", "cpu0 1", "a: b"])
)
def test_any_machine_with_any_files_missing_or_damaged_can_be_examined(tmp_path_factory, machine, damaged, damage):
    texts = files(machine) | {path: text for path, text in HEALTHY.items() if path not in damaged}
    root = write(tmp_path_factory.mktemp("machine"), texts)
    for path in damaged if damage else ():
        write(root, {path: damage})
    findings = checks.findings(topology_of(machine), read_vitals(root), {})
    assert len({finding.name for finding in findings}) == len(findings) == 23
    assert all(finding.value and finding.why for finding in findings)
    assert all((finding.remedy is None) == (finding.state in ("ok", "not available")) for finding in findings)


def test_a_recorded_machine_can_be_examined(recorded):
    answer = scaling("machine", "doctor", "--root", recorded.root)
    assert answer.returncode in (0, 1)
    assert answer.stderr == ""
    assert "not available" in answer.stdout
    offline = recorded.topology.present - recorded.topology.online
    assert ("caution  offline CPUs: " in answer.stdout) == bool(offline)


GIB = 2**30
QUIET = Span("just now")
EIGHT = parse_list("0-7")


def busy(*cpus: int, share: float = 0.9, stolen: float = 0.0) -> Span:
    """Some of eight CPUs busy, the others idle."""
    return Span("just now", tuple(Activity(cpu, share if cpu in cpus else 0.0, stolen) for cpu in range(8)))


@pytest.mark.parametrize(
    ("span", "state"),
    [
        (busy(), "ok"),
        (busy(0, share=0.24), "ok"),
        (busy(0, share=0.25), "caution"),
        (busy(0, 1, 2, share=0.4), "spoiler"),
        (busy(4, 5, share=0.9), "ok"),  # siblings are a subject of their own
        (replace(busy(), other_tasks=0), "ok"),
        (replace(busy(), other_tasks=1), "spoiler"),
        (QUIET, "not available"),
    ],
)
def test_a_task_that_runs_now_spoils(span, state):
    assert checks.load(topology_of(WHOLE), span).state == state


@pytest.mark.parametrize(("tasks", "state"), [(4, "ok"), (5, "spoiler")])
def test_a_task_does_not_count_if_another_cpu_has_room_for_it(tasks, state):
    half = topology_of(replace(WHOLE, allowed=parse_list("0-1,4-5")))
    assert checks.load(half, replace(busy(2, 3), other_tasks=tasks)).state == state


@pytest.mark.parametrize(("share", "state"), [(0.04, "ok"), (0.05, "caution"), (0.25, "spoiler")])
def test_a_busy_cpu_is_graded_by_its_share(share, state):
    finding = checks.busy_cpus(topology_of(WHOLE), busy(2, share=share))
    assert (finding.state, "CPU 2, up to" in finding.value) == (state, state != "ok")


def test_a_busy_second_thread_is_a_busy_sibling_and_a_busy_first_one_is_not():
    machine = topology_of(WHOLE)
    assert (checks.busy_cpus(machine, busy(6)).state, checks.busy_siblings(machine, busy(6)).state) == (
        "ok",
        "spoiler",
    )
    assert (checks.busy_cpus(machine, busy(2)).state, checks.busy_siblings(machine, busy(2)).state) == (
        "spoiler",
        "ok",
    )


def test_a_busy_sibling_outside_our_mask_is_seen():
    machine = topology_of(replace(WHOLE, allowed=parse_list("0-3")))
    assert checks.busy_siblings(machine, busy(5)).value.startswith("CPU 5, up to 90.0 %")


def test_a_busy_core_that_is_not_ours_is_none_of_our_business():
    machine = topology_of(replace(WHOLE, allowed=parse_list("0,4")))
    assert {checks.busy_cpus(machine, busy(1, 5)).state, checks.busy_siblings(machine, busy(1, 5)).state} == {"ok"}


def test_cores_of_one_thread_have_no_siblings():
    assert checks.busy_siblings(topology_of(GB10), QUIET).state == "ok"


@pytest.mark.parametrize("look", [checks.busy_cpus, checks.busy_siblings])
def test_without_ticks_nobody_is_known_to_be_busy(look):
    assert look(topology_of(WHOLE), QUIET).state == "not available"


@pytest.mark.parametrize(
    ("cpu", "memory", "state"),
    [
        (0.0, 0.0, "ok"),
        (0.02, 0.0, "caution"),
        (0.0, 0.2, "spoiler"),
        (0.5, None, "spoiler"),
        (None, None, "not available"),
    ],
)
def test_pressure_is_graded_by_the_worse_of_cpu_and_memory(cpu, memory, state):
    assert checks.pressure(Pressure(cpu, memory)).state == state


@pytest.mark.parametrize(
    ("now", "ever", "state"),
    [(0.0, 0.0, "ok"), (0.0, 0.02, "caution"), (0.02, 0.0, "caution"), (0.06, 0.0, "spoiler"), (0.06, 0.06, "spoiler")],
)
def test_steal_counts_now_and_as_a_habit(now, ever, state):
    assert checks.steal(EIGHT, busy(stolen=now), replace(busy(stolen=ever), words="since boot")).state == state


def test_steal_is_a_share_of_all_cpus():
    uneven = replace(QUIET, activity=tuple(Activity(cpu, 0.0, 0.04 if cpu == 3 else 0.0) for cpu in range(8)))
    finding = checks.steal(EIGHT, uneven, replace(uneven, words="since boot"))
    assert finding.value == "0.5 % just now, 0.5 % since boot"


@pytest.mark.parametrize(
    ("available", "total", "used", "moving", "state"),
    [
        (60, 0, 0, None, "ok"),
        (60, 8, 0, 0.0, "ok"),
        (2, 0, 0, None, "ok"),
        (60, 8, 1, 0.0, "caution"),
        (60, 8, 1, None, "caution"),
        (60, 8, 1, 200.0, "spoiler"),
        (60, 8, 0, 200.0, "spoiler"),
        (2, 8, 1, 0.0, "spoiler"),
    ],
)
def test_swap_spoils_where_pages_move_or_soon_will(available, total, used, moving, state):
    memory = Memory(64 * GIB, available * GIB, total * GIB, used * GIB)
    assert checks.swap(memory, replace(QUIET, swapped_pages_per_second=moving)).state == state


def test_unreported_memory_is_not_available():
    assert checks.swap(None, QUIET).state == "not available"


@pytest.mark.parametrize(("rate", "state"), [(10, "ok"), (1_000, "caution"), (10_000, "spoiler")])
def test_interrupts_are_graded_by_the_cpu_that_serves_most(rate, state):
    recent = replace(QUIET, interrupts={0: 5.0, 3: rate, 9: 1e6})
    finding = checks.interrupts(EIGHT, recent)
    assert (finding.state, finding.value) == (state, f"at most {rate} per second, on CPU 3, just now")


@pytest.mark.parametrize(
    ("sensors", "state"),
    [
        ((), "not available"),
        ((Sensor("coretemp", 40, 100),), "ok"),
        ((Sensor("coretemp", 40, 100), Sensor("coretemp", 86, 100)), "caution"),
        ((Sensor("cpu-thermal", 96, 100),), "spoiler"),
        ((Sensor("k10temp", 60),), "ok"),
        ((Sensor("k10temp", 91),), "spoiler"),
        ((Sensor("coretemp", 91, 120),), "ok"),
    ],
)
def test_temperature_is_graded_by_the_sensor_nearest_its_limit(sensors, state):
    assert checks.temperature(sensors).state == state


def test_work_that_ended_before_we_look_no_longer_counts():
    hour_of_work = stat({2: 0.9, 6: 0.9})
    later = {"proc/stat": _one_second_later(hour_of_work)}
    findings = examine(Fault(texts={"proc/stat": hour_of_work}), lambda root: write(root, later))
    assert {findings["busy CPUs"].state, findings["busy siblings"].state} == {"ok"}


def test_work_on_a_sibling_that_begins_as_we_look_is_seen():
    later = {"proc/stat": _one_second_later(stat({}), working=6)}
    findings = examine(Fault(), lambda root: write(root, later))
    assert (findings["busy CPUs"].state, findings["busy siblings"].state) == ("ok", "spoiler")
    assert findings["busy siblings"].value == "CPU 6, up to 100.0 % just now"


def test_a_storm_of_interrupts_that_begins_as_we_look_is_seen():
    later = {"proc/interrupts": interrupts({1: 50_000}, seconds=3601), "proc/uptime": "3601.00 7000.00"}
    findings = examine(Fault(), lambda root: write(root, later))
    assert (findings["interrupts"].state, "on CPU 1" in findings["interrupts"].value) == ("spoiler", True)


def test_pages_that_move_as_we_look_are_seen():
    later = {"proc/vmstat": "pswpin 500\npswpout 512\n", "proc/uptime": "3601.00 7000.00"}
    assert examine(Fault(), lambda root: write(root, later))["swap"].state == "spoiler"


def _one_second_later(text: str, working: int | None = None) -> str:
    """The same counters after a hundred more ticks, idle ones but on the CPU that works."""
    lines = []
    for line in text.splitlines():
        name, *ticks = line.split()
        if name[3:].isdecimal():
            index = 0 if int(name[3:]) == working else 3
            ticks[index] = str(int(ticks[index]) + 100)
        lines.append(" ".join([name, *ticks]))
    return "\n".join(lines)
