from math import inf
from typing import get_args

import numpy as np
import pytest

from benchmarks.shared.launches import Truth, series
from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.lack_of_fit import Misfit
from scaling.analysis.fits.verdict import (
    Caution,
    ClockUnknown,
    CorrelatedParameters,
    LackOfFit,
    MoreThanItsShare,
    NegativeCoherency,
    NegativeParameter,
    OneCoreDiffers,
    OneCoreNotMeasured,
    OneLaunchPerCount,
    SmtYieldUnknown,
    TooFewCores,
    TooFewCounts,
    UncertainPeak,
    VagueGain,
    VagueLimits,
    Verdict,
    VerdictReason,
)
from scaling.analysis.fitting import fit
from scaling.analysis.curves.laws import AMDAHL
from scaling.analysis.series import Observation, Series
from scaling.analysis.truth import StatedTruth
from scaling.reporting.fits import (
    VERDICT_WORDS,
    caution_lines,
    caution_sentence,
    fit_facts,
    fit_sentence,
    fit_sentences,
    fits_table,
    peak_words,
    reason_sentence,
    trace_lines,
    truth_lines,
)
from scaling.reporting.words import percent, text_lines
from tests.published import CISCO, NO_SINGLE, RAYTRACER, rates


def fitted(measured):
    return fit(measured)


def test_the_answer_comes_first_in_words():
    sentence = fit_sentence(fitted(rates("rays", RAYTRACER)))
    assert sentence == (
        "rays: Amdahl's law, serial fraction 5.65 % (4.12 % to 6.66 %): at most 17.4 (12.7 to 20.7) times one core"
    )
    assert "fastest on 33.2 (31 to 36) cores" in fit_sentence(fitted(rates("cisco", CISCO)))


def weak(**truth):
    return fitted(series(Truth(0.1, noise=0.005, scale="weak", **truth), np.random.default_rng(3)))


def test_weak_scaling_is_said_with_its_law():
    scaled = weak()
    assert fit_sentence(scaled).startswith("simulated: Gustafson's law (weak scaling), serial fraction ")
    assert ": a further core adds " in fit_sentence(scaled)
    assert text_lines(fits_table([scaled]))[1].split()[:3] == ["simulated", "*", "gustafson"]
    assert "no limit" in text_lines(fits_table([scaled]))[1]
    assert trace_lines(scaled)[0].startswith("simulated: Gustafson, count by count, 2: 0.")
    facts = fit_facts(scaled)
    assert (facts["scale"], facts["chosen"], facts["averaged"]["speedup_limit"]["value"]) == ("weak", "gustafson", None)


def test_two_cores_of_weak_scaling_show_their_scaled_speedup():
    sentence = fit_sentence(weak(grid=(1, 2)))
    assert "times as fast as one (scaled speedup, items grow with cores), by Gustafson's law a serial" in sentence


def test_no_law_and_no_number():
    sentence = fit_sentence(fitted(rates("odd", NO_SINGLE)))
    assert sentence.startswith("odd: no law fits: the best law misses the measured values by 7.6 %")
    assert "times one core" not in sentence


def two_cores(name, truth=None, faster=1.0):
    one, two = Observation(1.0, (1.0, 1.01, 0.99), truth=truth), (0.55 / faster, 0.551 / faster, 0.552 / faster)
    return fitted(Series(name, (one, Observation(2.0, two, truth=truth))))


def test_two_cores_show_their_speedup_and_karp_flatt_value():
    sentence = fit_sentence(two_cores("two"))
    assert "not identifiable: only 2 core counts have points that can be used" in sentence
    assert (
        "2 cores are 1.81 (1.77 to 1.86) times as fast as one, by Karp-Flatt a serial fraction of 10.2 % (" in sentence
    )


def test_why_there_is_no_law_is_said_once_and_what_there_is_for_each_series():
    long, why, *each = fit_sentences([two_cores("two"), fitted(rates("rays", RAYTRACER)), two_cores("other")])
    assert long.startswith("rays: Amdahl's law")
    assert why.startswith("no law can be told of 2 series with points that can be used on 1 and 2 cores: a law needs ")
    assert [line.split(":")[0] for line in each] == ["  two", "  other"]


def test_more_than_its_share_is_no_serial_fraction():
    (_, line) = fit_sentences([two_cores("two", faster=1.2)])
    assert "more than their share" in line
    assert "serial fraction" not in line


@pytest.mark.parametrize(("serial", "where"), [(0.1, "inside"), (0.3, "outside")])
def test_a_stated_truth_is_held_against_what_two_cores_show(serial, where):
    stated = two_cores("two", StatedTruth(serial, 0.0))
    (_, line) = fit_sentences([stated])
    assert line.endswith(f"; {percent(serial)} is stated, which is {where}")
    assert stated.serial_fraction == stated.karp_flatt.values[-1].fraction


@pytest.mark.parametrize(("serial", "where"), [(0.1, "inside"), (0.2, "outside")])
def test_a_stated_truth_is_held_against_the_interval(serial, where):
    truth = StatedTruth(serial, 0.0)
    observations = (Observation(n, (0.1 + 0.9 / n, 0.101 + 0.9 / n), truth=truth) for n in (1.0, 2.0, 4.0, 8.0))
    checked = fitted(Series("mine", tuple(observations)))
    (line,) = truth_lines(checked)
    assert line.startswith(f"mine: stated serial fraction {percent(serial)}, {where} the interval of 10")
    assert fit_facts(checked)["truth"] == {"serial_fraction": pytest.approx(serial), "inside": where == "inside"}


def test_a_series_that_states_nothing_has_no_line_about_it():
    assert truth_lines(fitted(rates("rays", RAYTRACER))) == []
    assert fit_facts(fitted(rates("rays", RAYTRACER)))["truth"] is None


def test_a_ceiling_that_is_not_known_leaves_what_is():
    sentence = fit_sentence(fitted(series(Truth(0.0003), np.random.default_rng(3))))
    assert "not identifiable" in sentence
    assert "the parallel part is 99.9 %" in sentence


def test_a_table_marks_the_chosen_law():
    lines = text_lines(fits_table([fitted(rates("rays", RAYTRACER))]))
    assert lines[0].split()[:2] == ["series", "law"]
    assert "φ" not in lines[0]
    assert lines[1].split()[:3] == ["rays", "*", "amdahl"]
    assert "no peak" in lines[2] or "cores" in lines[2]


def test_a_yield_of_second_threads_gets_a_column():
    truth = Truth(0.02, grid=(1, 2, 4, 8, 12, 16, 24, 32), physical=16, smt_yield=0.25)
    lines = text_lines(fits_table([fitted(series(truth, np.random.default_rng(3)))]))
    assert "φ" in lines[0]


def test_a_peak_of_cores_and_their_second_threads_is_said_in_cores_with_one_thread_each():
    truth = Truth(0.02, 2e-3, noise=0.005, grid=(1, 2, 4, 8, 12, 16, 24, 32), physical=16, smt_yield=0.25)
    assert fit_sentence(fitted(series(truth, np.random.default_rng(3)))).endswith(") cores with one thread each")


def test_a_limit_is_not_below_the_speedup_that_was_measured():
    past = Series("past", tuple(Observation(2.0**n, (time,)) for n, time in enumerate((1.0, 0.6, 0.4, 0.5, 0.45))))
    limited = fit(past, [AMDAHL])
    assert limited.averaged.speedup_limit.value < 2.5
    facts = fit_facts(limited)
    assert facts["averaged"]["speedup_limit"]["value"] == pytest.approx(2.5)
    assert facts["laws"]["amdahl"]["speedup_limit"]["value"] == pytest.approx(2.5)
    assert "× 2.5 (" in text_lines(fits_table([limited]))[1]


def test_a_trace_names_its_trend():
    (line,) = trace_lines(fit(rates("cisco", CISCO)))
    assert line.startswith("cisco: Karp-Flatt 2: 0.017")
    assert "; rising (p = " in line
    assert trace_lines(fit(rates("odd", NO_SINGLE))) == []


def test_a_caution_about_all_series_is_said_once():
    fits = [fit(rates("rays", RAYTRACER)), fit(rates("odd", NO_SINGLE))]
    lines = caution_lines(fits)
    assert sum("no clock was recorded" in line for line in lines) == 1
    assert any(line.startswith("odd: no point on one core can be used") for line in lines)


def test_a_peak_out_of_reach_is_no_number():
    rays = fitted(rates("rays", RAYTRACER))
    reach = 4 * max(rays.series.cores)
    assert peak_words(Estimate(reach + 1.0, 60.0, inf), rays) == "no peak within reach (not before 60 cores)"
    assert peak_words(Estimate(50.0, 40.0, inf), rays) == "fastest on 50 (40 to any) cores"
    assert peak_words(Estimate(50.0, 40.0, 60.0), rays) == "fastest on 50 (40 to 60) cores"


def test_facts_are_the_contract():
    fit = fitted(rates("rays", RAYTRACER))
    facts = fit_facts(fit)
    assert (facts["verdict_code"], facts["reason_codes"]) == ("ok", [])
    assert facts["caution_codes"] == ["clock-unknown", "one-launch-per-count"]
    assert facts["cores"] == [1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64]
    assert facts["launches"] == [1] * 11
    assert set(facts["laws"]["amdahl"]) >= {"serial_fraction", "rate_at_1", "speedup_limit"}
    assert set(facts["laws"]["usl"]) >= {"contention", "coherency", "rate_at_1", "peak_cores"}
    assert set(facts["laws"]["usl"]["coherency"]) >= {"value", "low", "high", "stderr"}
    assert set(facts["averaged"]) == {"serial_fraction", "rate_at_1", "speedup_limit", "peak_cores"}
    assert (facts["chosen"], facts["verdict"], facts["reasons"]) == ("amdahl", "ok", [])
    assert set(facts["karp_flatt"][0]) == {"cores", "value", "low", "high"}
    assert set(facts["held_out"]) == {"cores", "predicted", "low", "high", "measured", "inside"}
    assert facts["held_out"]["measured"] == pytest.approx(310)
    assert facts["held_out"]["low"] < facts["held_out"]["predicted"] < facts["held_out"]["high"]


REASONS = [
    (
        TooFewCounts(3),
        "too-few-counts",
        "only 3 core counts have points that can be used; 4 are needed to distinguish laws",
    ),
    (TooFewCores(2.0), "too-few-cores", "no point that can be used has more than 2 cores; a law needs 4 or more"),
    (
        MoreThanItsShare(8.0, 0.225, 1.0, NegativeParameter("contention", -0.02, 0.004)),
        "more-than-its-share",
        "8 cores did 22.5 % more than their share, and the contention, left free, is -0.02 ± 0.004: superlinear "
        "(caches?) or the measurement on 1 core is too slow",
    ),
    (
        LackOfFit(Misfit(0.076, None, False)),
        "lack-of-fit",
        "the best law misses the measured values by 7.6 %; with one value per count this rests on the residuals alone",
    ),
    (
        LackOfFit(Misfit(0.076, 0.0004, True)),
        "lack-of-fit",
        "the best law misses the measured means by 7.6 % beyond their noise (p = 0.0004)",
    ),
    (
        VagueLimits(Estimate(0.01, 0.0, 0.02), Estimate(50.0, 20.0, inf)),
        "vague-limits",
        "the limit 1/s lies anywhere from 50 to without limit, more than a factor of 3, and the peak lies anywhere "
        "from 20 to without limit, more than a factor of 3",
    ),
    (
        VagueLimits(Estimate(0.01), None),
        "vague-limits",
        "nothing is left to judge noise by, so no interval can be given",
    ),
    (
        VagueGain(Estimate(0.4, 0.1, 0.9)),
        "vague-gain",
        "a further core adds anything from 10 % to 90 % of one core, more than a factor of 3",
    ),
    (VagueGain(Estimate(0.4)), "vague-gain", "nothing is left to judge noise by, so no interval can be given"),
    (
        CorrelatedParameters(0.991),
        "correlated-parameters",
        "T(1) and the serial fraction cannot be distinguished (correlation 0.991)",
    ),
    (
        UncertainPeak(0.2),
        "uncertain-peak",
        "the law with a peak fits best, but the one without is not excluded (Akaike weight 20 %)",
    ),
]
CAUTIONS = [
    (
        SmtYieldUnknown(),
        "smt-yield-unknown",
        "φ not identifiable: fewer than two counts share a core between threads, so those were left out",
    ),
    (
        ClockUnknown(),
        "clock-unknown",
        "no clock was recorded; one that falls with cores would look like a serial fraction",
    ),
    (
        OneCoreNotMeasured(2.0),
        "one-core-not-measured",
        "no point on one core can be used; speedup is against the T(1) the law gives, from 2 up",
    ),
    (
        OneCoreDiffers(-0.051),
        "one-core-differs",
        "the fitted time on one core is -5.1 % off the measured one",
    ),
    (
        NegativeCoherency(-0.0012, 0.0003),
        "negative-coherency",
        "left free, the coherency is -0.0012 ± 0.0003: less is lost than any law says",
    ),
    (
        OneLaunchPerCount(),
        "one-launch-per-count",
        "with one value per count, noise and misfit cannot be distinguished; intervals rest on residuals",
    ),
]


@pytest.mark.parametrize(("reason", "code", "sentence"), REASONS)
def test_every_reason_for_a_verdict_has_a_stable_code_and_a_sentence(reason, code, sentence):
    assert (reason.code, reason_sentence(reason)) == (code, sentence)


@pytest.mark.parametrize(("caution", "code", "sentence"), CAUTIONS)
def test_every_caution_has_a_stable_code_and_a_sentence(caution, code, sentence):
    assert (caution.code, caution_sentence(caution)) == (code, sentence)


def test_no_reason_caution_or_verdict_is_without_words():
    assert {type(reason) for reason, *_ in REASONS} == set(get_args(VerdictReason))
    assert {type(caution) for caution, *_ in CAUTIONS} == set(get_args(Caution))
    assert set(VERDICT_WORDS) == set(Verdict)
    assert [verdict.value for verdict in Verdict] == ["ok", "not-identifiable", "no-law-fits", "superlinear"]
