from dataclasses import replace

import pytest

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


@pytest.mark.parametrize(
    ("seconds", "busy", "words"),
    [
        (0.1, 12.0, "25 % is lost to idle or waiting cores, 13 % to slower computation or spinning"),
        (0.15625, 6.4, "60 % is lost to idle or waiting cores"),
        (0.1, 16.0, "38 % is lost to slower computation or spinning"),
        (0.05, 12.0, "25 % is lost to idle or waiting cores, 50 % is gained by faster computation"),
        (0.05, 16.0, "25 % is gained by faster computation"),
        (0.0625, 16.0, "no loss is shown"),
    ],
)
def test_a_series_has_a_sentence_about_its_most_cores(seconds, busy, words):
    (sentence,) = loss_sentences(points((2, 0.9, 1.1), (16, seconds, busy)))
    assert sentence == f"simulated train: at 16 cores {words}; peak memory 768 MiB"


@pytest.mark.parametrize(
    ("one", "many", "words"),
    [
        (3 << 28, 5 << 28, "; peak memory 1.25 GiB, 768 MiB on one core"),
        (None, 5 << 28, "; peak memory 1.25 GiB"),
        (3 << 28, None, "spinning"),
    ],
)
def test_a_sentence_ends_with_peak_memory_and_how_it_has_grown(one, many, words):
    known = [
        replace(where, summary=replace(where.summary, used=(replace(where.summary.used[0], peak_memory_bytes=size),)))
        for where, size in zip(points((2, 0.75, 2.0)), (one, many), strict=True)
    ]
    assert loss_sentences(known)[0].endswith(words)


def test_a_part_that_chance_may_have_made_is_not_named():
    one, two = points((2, 0.5, 2.0))
    wide = replace(two.decomposition.idle, value=0.02, low=-0.01, high=0.05)
    chance = with_decomposition(two, idle=wide)
    assert loss_sentences([one, chance])[0].startswith("simulated train: at 2 cores no loss is shown")


def test_what_made_computation_slower_is_named_where_it_was_counted():
    slower = {"ipc": 1.6, "clock_hz": 3.6e9}
    (sentence,) = loss_sentences(points((2, 0.5 / 0.72, 2.0, slower), **COUNTED))
    assert "28 % is lost to slower computation or spinning (20 % lower IPC, 8 % lower clock);" in sentence


def test_the_table_has_both_parts_with_their_intervals_and_the_peak_memory():
    known = points((2, 0.75, 2.0))
    table = losses_table(known)
    assert table.headers[1:7] == (">cores", ">efficiency", ">idle", "95 %", ">computation", "95 %")
    one, two = table.rows
    assert one[1:] == ("1", "100.0 %", "0.0 %", "", "0.0 %", "", "768 MiB", "ok")
    assert (two[1:4], two[5], two[7:]) == (("2", "66.7 %", "0.0 %"), "33.3 %", ("768 MiB", "ok"))
    low, high = (float(end.removesuffix(" %")) for end in two[6].split(" to "))
    assert low < 33.3 < high
    assert not_counted_sentence(known).startswith("instructions, IPC and clock")


def test_the_table_has_instructions_ipc_and_clock_where_they_were_counted():
    known = points((2, 0.5 / 0.72, 2.0, {"ipc": 1.6, "clock_hz": 3.6e9}), **COUNTED)
    table = losses_table(known)
    assert table.headers[-5:] == (">instructions", ">IPC", ">clock", ">peak memory", "verdict")
    assert table.rows[1][-5:-2] == ("0.0 %", "20.0 %", "8.0 %")
    assert not_counted_sentence(known) is None


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
