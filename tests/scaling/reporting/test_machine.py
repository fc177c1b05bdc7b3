import json

import pytest

from scaling.machine.doctor.findings import worst_first
from scaling.reporting.machine import examination_facts, examination_lines, headline, spoiler_sentence
from tests.scaling.machine.doctor.examined import EVERYTHING, Fault, examine

WELL = tuple(examine(Fault("")).values())
UNWELL = tuple(examine(EVERYTHING).values())


def test_the_answer_comes_first():
    assert headline(WELL) == "Nothing here would spoil a measurement. 1 caution: SMT."
    assert headline(UNWELL) == (
        "7 things here would spoil a measurement: load, busy siblings, swap, quota, cpuset, thread variables, "
        "governor. 2 cautions: offline CPUs, SMT."
    )


def test_one_thing_is_one_thing():
    spoilers = [finding for finding in UNWELL if finding.state == "spoiler"]
    assert headline(spoilers[:1]) == "1 thing here would spoil a measurement: load."


def test_finding_nothing_where_little_can_be_seen_is_said_to_be_little():
    unseen = [finding for finding in examine(Fault("", texts={"proc/stat": ""})).values() if finding.name == "load"]
    assert headline(unseen) == "Nothing visible here would spoil a measurement. 1 of 1 check not available."


def test_a_sweep_is_told_what_would_spoil_it_and_where_to_read_more():
    sentence = spoiler_sentence(UNWELL)
    assert sentence.startswith(headline(UNWELL))
    assert "`scaling machine doctor`" in sentence
    well = [finding for finding in WELL if finding.state == "ok"]
    assert spoiler_sentence(well) == "Nothing here would spoil a measurement."


@pytest.mark.parametrize("width", [80, 100])
def test_lines_fit_a_terminal_and_tell_everything(width):
    lines = examination_lines(UNWELL, width)
    assert max(map(len, lines)) <= width
    prose = " ".join(" ".join(lines).split())
    for finding in UNWELL:
        assert " ".join(finding.value.split()) in prose
        assert finding.remedy is None or (finding.remedy in prose and finding.why in prose)


def test_what_needs_doing_goes_before_what_is_well():
    lines = examination_lines(UNWELL, 80)
    heads = [line.split("  ")[0] for line in lines if line and not line.startswith(" ")][2:]
    assert heads == [finding.state for finding in worst_first(UNWELL)]


def test_facts_hold_the_verdict_and_every_finding():
    facts = json.loads(json.dumps(examination_facts(UNWELL)))
    assert facts["verdict"] == "spoiler"
    assert len(facts["findings"]) == len(UNWELL)
    assert set(facts["findings"][0]) == {"code", "name", "state", "value", "why", "remedy"}
