import json

import pytest

from scaling.reporting.machine import examination_facts, examination_lines, headline
from tests.scaling.machine.doctor.examined import EVERYTHING, Fault, examine

UNWELL = tuple(examine(EVERYTHING).values())


def test_finding_nothing_where_little_can_be_seen_is_said_to_be_little():
    unseen = [finding for finding in examine(Fault(texts={"proc/stat": ""})).values() if finding.name == "load"]
    assert headline(unseen) == "Nothing visible here would spoil a measurement. 1 of 1 check not available."


@pytest.mark.parametrize("width", [80, 100])
def test_lines_fit_a_terminal_and_tell_everything(width):
    lines = examination_lines(UNWELL, width)
    assert max(map(len, lines)) <= width
    prose = " ".join(" ".join(lines).split())
    for finding in UNWELL:
        assert " ".join(finding.value.split()) in prose
        assert finding.remedy is None or (finding.remedy in prose and finding.why in prose)


def test_facts_hold_the_verdict_and_every_finding():
    facts = json.loads(json.dumps(examination_facts(UNWELL)))
    assert facts["verdict"] == "spoiler"
    assert len(facts["findings"]) == len(UNWELL)
    assert set(facts["findings"][0]) == {"code", "name", "state", "value", "why", "remedy"}
