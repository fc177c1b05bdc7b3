import re
from dataclasses import replace
from math import inf
from typing import get_args

import numpy as np
import pytest

from benchmarks.shared.launches import TO_16, Truth, series
from benchmarks.shared.machines import first_run
from scaling.analysis.curves.fit import fit
from scaling.analysis.series import series_key
from scaling.analysis.sizing.capacity import answer, answer_job, scaling_limits
from scaling.analysis.sizing.question import (
    Basis,
    BeyondExtrapolation,
    ExtrapolationEnds,
    Goal,
    Grounds,
    LaunchesScatter,
    MachineTooSmall,
    NeverReached,
    OverBudget,
    Question,
    SimilarCost,
    SizingReason,
    Status,
    StepsGrow,
    StepsUnknown,
    TooFewSteps,
    WholeMachineKeeps,
)
from scaling.analysis.sizing.sizes import Price
from scaling.reporting.capacity import (
    STATUS_WORDS,
    answer_facts,
    answer_sentence,
    answers_table,
    basis_words,
    device_facts,
    jobs_table,
    limits_facts,
    limits_table,
    sizing_reason_sentence,
    sureness,
    target_words,
)
from scaling.reporting.words import cores_words, text_lines
from tests.mentions import mentions
from tests.published import NO_SINGLE, rates
from tests.scaling.analysis.sizing.simulated import FIT as JOB_FIT

FIT = fit(series(Truth(0.05, noise=0.005, grid=TO_16), np.random.default_rng(1)))
ODD = fit(rates("odd", NO_SINGLE))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(Goal.THROUGHPUT, 6.0), r"give simulated 9 cores: (9[5-9]|more than 99) % sure of 6 items/s"),
        (
            Question(Goal.LATENCY, 0.2),
            r"give simulated [67] cores: (9[5-9]|more than 99) % sure of a step within 200 ms",
        ),
        (Question(Goal.EFFICIENCY, 0.7), r"give simulated at most 9 cores: .* % sure of an efficiency of 70 % or more"),
        (Question(Goal.HOURLY_BUDGET, 8.0), r"give simulated 8 cores: 8 an hour buys 5.9\d \(.*\) items/s"),
        (
            Question(Goal.CHEAPEST, 1.0, price=Price(1.0, 3.0)),
            r"give simulated [78] cores: .* per million items, the lowest cost",
        ),
        (Question(Goal.THROUGHPUT, 11.0), r"give simulated 2\d cores: .*, extrapolated"),
        (Question(Goal.THROUGHPUT, 50.0), r"simulated, 50 items/s: no size: not reachable with 95 % confidence"),
    ],
    ids=["throughput", "latency", "efficiency", "budget", "cheapest", "extrapolated", "not reachable"],
)
def test_the_answer_comes_first_in_words(question, words):
    assert re.match(words, answer_sentence(answer(FIT, question)))


def test_a_size_that_was_not_measured_says_how_it_stands_to_those_that_were():
    words = [
        basis_words(basis)
        for basis in (
            Basis(Grounds.MEASURED),
            Basis(Grounds.BETWEEN, (2.0, 4.0)),
            Basis(Grounds.BELOW, (2.0,), own_left_out=True),
            Basis(Grounds.BEYOND, (16.0,)),
        )
    ]
    assert words == [
        "",
        "interpolated between 2 and 4 cores",
        "extrapolated: below 2 cores, which is the smallest count measured (its own point was left out)",
        "extrapolated",
    ]
    assert ", interpolated between 8 and 16 cores" in answer_sentence(answer(FIT, Question(Goal.THROUGHPUT, 6.0)))


def test_a_size_names_its_threads_where_there_are_several():
    assert [cores_words(1), cores_words(7, 4)] == ["1 core", "7 cores × 4 threads"]


def test_a_series_without_one_core_is_answered_too():
    sentence = answer_sentence(answer(ODD, Question(Goal.THROUGHPUT, 100.0)))
    assert re.match(r"give odd \d+ cores: 9\d % sure of 100 units/s", sentence)


def test_a_table_shows_the_neighbouring_sizes():
    lines = text_lines(answers_table([answer(FIT, Question(Goal.THROUGHPUT, 6.0))]))
    assert len(lines) == 4
    assert sum("*" in line for line in lines) == 1
    assert "cost" not in lines[0]
    assert "the curve alone" in next(line for line in lines if "*" in line)


def test_prices_get_a_column_where_they_are_asked_about():
    assert "cost per million" in text_lines(answers_table([answer(FIT, Question(Goal.HOURLY_BUDGET, 8.0))]))[0]


def test_landmarks_are_lines_of_a_table():
    limits = scaling_limits(FIT)
    assert len(text_lines(limits_table([limits, scaling_limits(ODD)]))) == 3
    assert limits_facts(limits)["knee_cores"]["value"] == pytest.approx(19, rel=0.1)


def test_facts_are_unrounded_and_complete():
    facts = answer_facts(answer(FIT, Question(Goal.THROUGHPUT, 6.0)))
    assert facts["status"] == "ok"
    assert facts["cores"] == facts["allocation"]["cores"]
    assert facts["assurance"] >= 0.95
    assert (facts["status_code"], facts["reason_codes"]) == ("ok", [])
    assert facts["described_within"] == FIT.described_within
    refused = answer_facts(answer(FIT, Question(Goal.LATENCY, 0.2, quantile=0.9)))
    assert (refused["status"], refused["cores"], refused["allocation"]) == ("refused", None, None)
    assert (refused["status_code"], refused["reason_codes"]) == ("refused", ["steps-unknown"])


def test_sureness_is_rounded_down_and_never_certain():
    words = [sureness(assurance) for assurance in (0.95, 0.9496, 0.99, 0.996, 1.0)]
    assert words == ["95 %", "94 %", "99 %", "more than 99 %", "more than 99 %"]


REASONS = [
    (
        StepsGrow(),
        "steps-grow",
        "under weak scaling, steps grow with cores and do not get shorter; ask for a throughput",
    ),
    (OverBudget(0.04, 0.01), "over-budget", "one core costs 0.04 an hour, more than the budget of 0.01"),
    (
        NeverReached(0.95, 0.2),
        "never-reached",
        "not reachable with 95 % confidence (20 % of the possible curves never reach it)",
    ),
    (NeverReached(0.95, 1.0), "never-reached", "not reachable with 95 % confidence"),
    (
        MachineTooSmall(0.95, 20.6, 16, "epyc"),
        "machine-too-small",
        "the 16 cores of epyc are too few for 95 % confidence; by the curve alone, about 20.6 would do",
    ),
    (
        BeyondExtrapolation(0.9, inf, 16.0),
        "beyond-extrapolation",
        "curves end at twice the 16 cores measured, and even that is too few for 90 % confidence",
    ),
    (WholeMachineKeeps(64), "whole-machine-keeps", "it is reached even on all 64 cores of the machine"),
    (
        ExtrapolationEnds(32, 16.0),
        "extrapolation-ends",
        "more cores may reach it too, but a curve up to 16 cores is extrapolated only to 32",
    ),
    (SimilarCost(6, 10, 0.05), "similar-cost", "6 to 10 cores cost at most 5 % more"),
    (
        LaunchesScatter(),
        "launches-scatter",
        "its launches differ so much that no size is recommended; run at least five launches",
    ),
    (StepsUnknown(), "steps-unknown", "the times of single steps are not known; use a results folder"),
    (
        TooFewSteps(0.99, 99, 40),
        "too-few-steps",
        "the 99 % quantile of steps needs launches of at least 99 steps, but these have at most 40; measure longer "
        "(`max_seconds`, `rounds`), or ask for a lower quantile",
    ),
]


@pytest.mark.parametrize(("reason", "code", "sentence"), REASONS)
def test_every_reason_for_an_answer_has_a_stable_code_and_a_sentence(reason, code, sentence):
    assert (reason.code, sizing_reason_sentence(reason)) == (code, sentence)


def test_no_reason_or_status_is_without_words():
    assert {type(reason) for reason, *_ in REASONS} == set(get_args(SizingReason))
    assert set(STATUS_WORDS) == set(Status)
    assert [status.value for status in Status] == ["ok", "not-reachable", "refused"]
    goals = ["throughput", "latency", "efficiency", "hourly-budget", "cheapest", "work", "deadline"]
    assert [goal.value for goal in Goal] == goals


def on(device, framework, faster=1.0):
    """The fit as one of a device, on which all steps are so many times faster."""
    point = replace(first_run('workloads = ["alexnet"]').point, device=device, framework=framework)
    truth = Truth(0.05, noise=0.005, grid=TO_16)
    made = series(truth, np.random.default_rng(1))
    observations = tuple(
        replace(one, launch_seconds=tuple(seconds / faster for seconds in one.launch_seconds))
        for one in made.observations
    )
    return fit(replace(made, key=series_key(point), observations=observations))


def ask(target, price, *fits):
    return [
        answer(one, Question(Goal.THROUGHPUT, target, price=price.on_device(one.series.key.settings.device)))
        for one in fits
    ]


def test_the_cheapest_of_cores_and_gpus_follows_from_their_prices():
    fits = on("cpu", "torch"), on("cpu", "jax", 1.1), on("gpu", "jax", 50.0)
    dear = device_facts(ask(6.0, Price(1.0, gpu_hour=40.0), *fits))[0]["sentence"]
    assert dear == (
        "alexnet train, 6 items/s: cheapest with 3 replicas of 2 cores under jax for 6 an hour; 1 GPU with 1 core "
        "under jax for 41 an hour"
    )
    (facts,) = device_facts(ask(6.0, Price(1.0, gpu_hour=40.0), *fits))
    assert (facts["name"], facts["sentence"]) == ("alexnet train", dear)
    assert [(way["device"], way["replicas"], way["cores"], way["hourly_cost"]) for way in facts["ways"]] == [
        ("cpu", 3, 2, 6.0),
        ("gpu", 1, 1, 41.0),
    ]
    cheap = device_facts(ask(100.0, Price(1.0, gpu_hour=40.0), *fits))[0]["sentence"]
    assert mentions(cheap, "train, 100 items/s: … 1 GPU with 3 cores … 43 an")


def test_a_workload_on_one_device_has_nothing_to_be_compared_with():
    assert device_facts(ask(6.0, Price(), on("cpu", "torch"), on("cpu", "jax"))) == []


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(Goal.LATENCY, 0.2, quantile=0.99), "99 % of steps within 200 ms"),
        (Question(Goal.LATENCY, 0.2), "a run within 200 ms"),
        (Question(Goal.WORK, 1e6, items=2e6), "2000000 images"),
        (Question(Goal.DEADLINE, 28_800.0, items=2e6), "2000000 images within 8.0 h"),
    ],
)
def test_the_target_of_a_question_in_words(question, words):
    assert target_words(question, "images") == words


def test_the_times_of_a_job_are_a_table_and_of_other_questions_there_is_none():
    job = answer_job(JOB_FIT, Question(Goal.DEADLINE, 7200.0, items=36_000.0))
    lines = text_lines(jobs_table([job]))
    assert len(lines) == 4
    assert sum("*" in line for line in lines) == 1
    assert not jobs_table([answer(JOB_FIT, Question(Goal.LATENCY, 0.2))]).rows
