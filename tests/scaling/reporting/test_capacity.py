from dataclasses import replace
from math import inf
from typing import get_args

import numpy as np
import pytest

from benchmarks.shared.launches import TO_16, Truth, series
from benchmarks.shared.machines import first_run
from scaling.analysis.curves.fit import fit
from scaling.analysis.series import series_key
from scaling.analysis.sizing.capacity import answer
from scaling.analysis.sizing.question import (
    BeyondExtrapolation,
    ExtrapolationEnds,
    Goal,
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
    device_facts,
    sizing_reason_sentence,
    sureness,
)

FIT = fit(series(Truth(0.05, noise=0.005, grid=TO_16), np.random.default_rng(1)))


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


def test_a_workload_on_one_device_has_nothing_to_be_compared_with():
    assert device_facts(ask(6.0, Price(), on("cpu", "torch"), on("cpu", "jax"))) == []
