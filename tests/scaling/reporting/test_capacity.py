import re
from math import inf

import numpy as np
import pytest

from benchmarks.simulated import TO_16, Truth, series
from scaling.analysis.capacity import answer, scaling_limits
from scaling.analysis.estimates import Estimate
from scaling.analysis.fitting import fit
from scaling.analysis.sizing.price import Price
from scaling.analysis.sizing.question import Question
from scaling.reporting.capacity import (
    answer_facts,
    answer_sentence,
    answers_table,
    outlook_facts,
    outlook_sentence,
    outlooks_table,
    spread_words,
    sureness,
)
from scaling.reporting.tables import text_lines
from tests.published import NO_SINGLE, rates

FIT = fit(series(Truth(0.05, noise=0.005, grid=TO_16), np.random.default_rng(1)), resamples=0)
ODD = fit(rates("odd", NO_SINGLE), resamples=0)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question("throughput", 6.0), r"give simulated 9 cores: (9[5-9]|more than 99) % sure of 6 items/s"),
        (Question("latency", 0.2), r"give simulated [67] cores: (9[5-9]|more than 99) % sure of a step within 200 ms"),
        (Question("efficiency", 0.7), r"give simulated at most 9 cores: .* % sure of an efficiency of 70 % or more"),
        (Question("budget", 8.0), r"give simulated 8 cores: 8 an hour buys 5.9\d \(.*\) items/s"),
        (
            Question("cheapest", 1.0, price=Price(1.0, 3.0)),
            r"give simulated [78] cores: .* per million items, the lowest",
        ),
        (Question("throughput", 11.0), r"give simulated 2\d cores: .*, extrapolated"),
        (Question("throughput", 50.0), r"simulated, 50 items/s: no: not reachable with 95 % confidence"),
    ],
    ids=["throughput", "latency", "efficiency", "budget", "cheapest", "extrapolated", "not reachable"],
)
def test_the_answer_comes_first_in_words(question, words):
    assert re.match(words, answer_sentence(answer(FIT, question)))


def test_where_no_law_fits_there_is_no_number():
    assert answer_sentence(answer(ODD, Question("throughput", 100.0))).startswith(
        "odd, 100 units/s: no answer: no law fits"
    )
    assert "no answer" in outlook_sentence(scaling_limits(ODD))


def test_a_table_shows_the_neighbouring_sizes():
    lines = text_lines(answers_table([answer(FIT, Question("throughput", 6.0))]))
    assert len(lines) == 4
    assert sum("*" in line for line in lines) == 1
    assert "cost" not in lines[0]
    assert "the law alone" in next(line for line in lines if "*" in line)


def test_prices_get_a_column_where_they_are_asked_about():
    assert "cost per million" in text_lines(answers_table([answer(FIT, Question("budget", 8.0))]))[0]


def test_landmarks_in_words_and_lines():
    found = scaling_limits(FIT)
    assert outlook_sentence(found).startswith("simulated: speedup times efficiency is largest at 1")
    assert len(text_lines(outlooks_table([found, scaling_limits(ODD)]))) == 3
    assert outlook_facts(found)["knee_cores"]["value"] == pytest.approx(19, rel=0.1)


def test_facts_are_unrounded_and_complete():
    facts = answer_facts(answer(FIT, Question("throughput", 6.0)))
    assert facts["status"] == "ok"
    assert facts["cores"] == facts["offer"]["cores"]
    assert facts["assurance"] >= 0.95
    refused = answer_facts(answer(ODD, Question("throughput", 6.0)))
    assert (refused["status"], refused["cores"], refused["offer"]) == ("refused", None, None)
    assert (refused["status_code"], refused["verdict_code"]) == ("refused", "no-law-fits")


def test_sureness_is_rounded_down_and_never_certain():
    words = [sureness(assurance) for assurance in (0.95, 0.9496, 0.99, 0.996, 1.0)]
    assert words == ["95 %", "94 %", "99 %", "more than 99 %", "more than 99 %"]


def test_spreads_in_words():
    assert spread_words(Estimate(6.0, 5.0, inf)) == "6 (5 to no limit)"
    assert spread_words(Estimate(inf, inf, inf)) == "no limit"
    assert spread_words(Estimate(inf, 30.0, inf), beyond="beyond 32") == "beyond 32 (30 to beyond 32)"
    assert spread_words(Estimate(0.5, 0.4, 0.6), as_percent=True) == "50 % (40 % to 60 %)"
