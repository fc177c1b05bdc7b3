from dataclasses import replace

from benchmarks.shared.hosts import point
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.reporting.losses import loss_sentences, losses_table, not_counted_sentence, not_decomposed_sentence
from scaling.reporting.points import point_facts
from tests.scaling.reporting.results import with_decomposition

ABOUT = (0.999, 1.0, 1.001)
COUNTED = {"ipc": 2.0, "clock_hz": 4e9}


def points(*measured, **known):
    """Points of a workload that takes a second on one core: cores, seconds and CPUs busy."""
    made = [(1, 1.0, 1.0, known), *((*one, {})[:4] for one in measured)]
    return speedups(
        summarize(
            Launch(
                point(cores), number, seconds * factor, **{"cpus_busy": busy, **known, **own}, peak_memory_bytes=3 << 28
            )
            for cores, seconds, busy, own in made
            for number, factor in enumerate(ABOUT, 1)
        )
    )


def test_a_part_that_chance_may_have_made_is_not_named():
    one, two = points((2, 0.5, 2.0))
    wide = replace(two.decomposition.idle, value=0.02, low=-0.01, high=0.05)
    chance = with_decomposition(two, idle=wide)
    assert loss_sentences([one, chance])[0].startswith("simulated train: at 2 cores no loss is shown")


def test_the_facts_have_the_factors_that_were_counted():
    _, two = points((2, 0.5 / 0.72, 2.0, {"ipc": 1.6, "clock_hz": 3.6e9}), **COUNTED)
    facts = point_facts(two)["decomposition"]
    assert {name: round(factor["value"], 6) for name, factor in facts["counters"].items()} == {
        "instructions": 1.0,
        "ipc": 0.8,
        "clock": 0.9,
    }


def test_a_point_without_cpu_time_has_its_efficiency_and_no_parts():
    unknown = [replace(one, baseline=None) for one in points((2, 0.75, 2.0))]
    assert [row[2:7] for row in losses_table(unknown).rows] == [
        ("100.0 %", "-", "", "-", ""),
        ("66.7 %", "-", "", "-", ""),
    ]
    assert loss_sentences(unknown) == []
    assert not_counted_sentence(unknown) is None


def test_of_a_program_that_reports_its_time_itself_the_losses_are_not_available_in_words():
    known = points((2, 0.75, 2.0), whole_process=False, cpus_busy=None)
    reason = "the program reports its own time, and its CPU time is known for the whole process only"
    sentence = f"efficiency losses are not available: {reason}"
    assert [row[2:7] for row in losses_table(known).rows] == [
        ("100.0 %", "not available", "", "not available", ""),
        ("66.7 %", "not available", "", "not available", ""),
    ]
    assert loss_sentences(known) == []
    assert not_decomposed_sentence(known) == sentence
    facts = point_facts(known[1])
    assert (facts["decomposition"], facts["not_decomposed"]) == (None, reason)


def test_a_point_that_is_decomposed_says_nothing_of_why_not():
    known = points((2, 0.75, 2.0))
    assert not_decomposed_sentence(known) is None
    assert {point_facts(one)["not_decomposed"] for one in known} == {None}
