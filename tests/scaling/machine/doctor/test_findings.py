from scaling.machine.doctor.findings import STATES, TURBO, Finding, verdict, worst_first
from tests.scaling.machine.doctor.examined import EVERYTHING, examine


def test_findings_are_ordered_by_what_they_do():
    ordered = worst_first(examine(EVERYTHING).values())
    assert [finding.state for finding in ordered] == sorted((finding.state for finding in ordered), key=STATES.index)


def test_what_is_not_available_makes_no_verdict():
    assert verdict([TURBO.not_available("no switch")]) == "ok"


def test_a_finding_has_a_stable_code():
    assert Finding("busy CPUs", "ok", "none", "why", None).code == "busy-cpus"
    assert Finding("THP", "ok", "never", "why", None).code == "thp"
