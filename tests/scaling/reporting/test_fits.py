"""Sentence, table, facts and sizes say the same numbers of a curve."""

import re
from dataclasses import replace
from typing import get_args

import msgspec
import numpy as np
import pytest

from benchmarks.shared.launches import TO_16, Truth, series
from scaling.analysis.curves.fit import (
    Caution,
    ClockUnknown,
    CoresShared,
    Description,
    OneCoreNotMeasured,
    OneLaunchPerCount,
    fit,
)
from scaling.analysis.estimates import Estimate
from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.series import Observation, Series
from scaling.analysis.sizing.capacity import allocation_of, scaling_limits
from scaling.reporting.capacity import limits_facts
from scaling.reporting.fits import (
    DESCRIPTION_WORDS,
    SERIES,
    caution_sentence,
    description_words,
    fit_facts,
    fit_sentence,
    fits_table,
    serial_sentence,
    truth_lines,
)
from scaling.reporting.page.tables import answer_line
from scaling.reporting.words import figure, percent, text_lines, with_interval
from tests.published import CISCO, NO_SINGLE, RAYTRACER, rates

EXACT = fit(series(Truth(0.1, noise=1e-3, grid=TO_16), np.random.default_rng(3)))


RAYS = fit(rates("rays", RAYTRACER))


CONVEX = fit(rates("cisco", CISCO))


ODD = fit(rates("odd", NO_SINGLE))


SUPERLINEAR = fit(rates("fast", [(1, 1), (2, 2.2), (4, 5.3), (8, 13.0), (16, 30.0)]))


WEAK = fit(series(Truth(0.1, noise=0.005, scale="weak"), np.random.default_rng(3)))


TWO = fit(Series("two", (Observation(1.0, (1.0, 1.01, 0.99)), Observation(2.0, (0.55, 0.551, 0.552)))))


ALL = {"exact": EXACT, "rays": RAYS, "cisco": CONVEX, "odd": ODD, "fast": SUPERLINEAR, "weak": WEAK, "two": TWO}


def cells(fitted):
    """The row of a table by its headers."""
    table = fits_table([fitted])
    return dict(zip((header.lstrip(">") for header in table.headers), table.rows[0], strict=True))


@pytest.mark.parametrize("fitted", ALL.values(), ids=ALL)
def test_every_output_says_the_same_numbers(fitted):
    sentence, row, facts = fit_sentence(fitted), cells(fitted), fit_facts(fitted)
    most = fitted.most_cores
    speedup = with_interval(fitted.speedup(most), figure)
    assert f"{figure(most)} cores do {speedup} times the work of one core" in sentence
    assert row["speedup"] == speedup
    (point,) = [one for one in facts["curve"] if one["cores"] == most]
    assert point["speedup"]["value"] == fitted.speedup(most).value
    assert point["efficiency"]["value"] == pytest.approx(fitted.speedup(most).value / most)
    allocated = allocation_of(fitted, int(most))
    assert allocated.efficiency.value == pytest.approx(point["efficiency"]["value"], rel=1e-9)
    assert allocated.efficiency.low == pytest.approx(point["efficiency"]["low"], rel=1e-9)
    limits, page = scaling_limits(fitted), answer_line(scaling_limits(fitted))
    assert limits.speedup_limit == fitted.speedup_limit
    assert facts["limit"] == limits_facts(limits)["speedup_limit"]
    if fitted.serial_fraction is not None:
        serial = with_interval(fitted.serial_fraction, percent)
        assert serial in sentence
        assert (row["serial"], facts["serial_fraction"]["low"]) == (serial, fitted.serial_fraction.low)
        assert page.serial.value == percent(fitted.serial_fraction.value)
    if fitted is not WEAK and np.isfinite(fitted.speedup_limit.value):
        limit = with_interval(fitted.speedup_limit, figure, beyond="no limit")
        assert f"limit about {limit}" in sentence
        assert (row["limit"], page.ceiling.value) == (limit, f"× {figure(fitted.speedup_limit.value)}")


@pytest.mark.parametrize("fitted", ALL.values(), ids=ALL)
def test_facts_match_their_schema_with_a_point_for_every_count_to_twice_the_most(fitted):
    facts = fit_facts(fitted)
    msgspec.convert(facts, SERIES.record)
    assert [point["cores"] for point in facts["curve"]] == list(range(1, int(2 * fitted.most_cores) + 1))
    assert facts["measured"] == list(map(int, fitted.counts))
    assert facts["described_within"] == fitted.described_within
    assert [one["cores"] for one in facts["karp_flatt"]] == [cores for cores in facts["measured"] if cores > 1]


def test_a_serial_fraction_and_a_limit_known_to_a_factor_of_three_are_in_the_sentence_and_others_are_not():
    known = fit(EXACT.series)
    assert re.search(r"serial, at most .* times one core$", serial_sentence(known) or "")
    known.__dict__["speedup_limit"] = Estimate(10.0, 2.0, 40.0)
    assert "times one core" not in serial_sentence(known)
    vague = replace(EXACT, contention=np.geomspace(0.01, 0.9, len(EXACT.contention)))
    assert "serial" not in serial_sentence(vague)


def test_a_law_that_is_off_by_less_than_a_percent_is_not_off_by_nothing():
    known = fit(EXACT.series)
    known.__dict__["described_within"] = 0.004
    assert description_words(known).endswith("to within 0.4 %")


def test_what_is_without_limit_is_null_in_facts():
    assert fit_facts(WEAK)["limit"] == {"value": None, "low": None, "high": None}


def test_a_law_that_does_not_describe_a_series_has_no_serial_fraction_and_says_how_far_it_is_off():
    assert SUPERLINEAR.description is Description.NOT_AT_ALL
    facts = fit_facts(SUPERLINEAR)
    assert (facts["serial_fraction"], facts["description"]) == (None, "not-at-all")
    assert f"does not describe it, {100 * SUPERLINEAR.described_within:.0f} % off" in fit_sentence(SUPERLINEAR)


@pytest.mark.parametrize(("serial", "where"), [(0.1, "inside"), (0.2, "outside")])
def test_a_stated_truth_is_held_against_the_interval(serial, where):
    truth = StatedTruth(serial, 0.0)
    observations = (Observation(n, (0.1 + 0.9 / n, 0.101 + 0.9 / n), truth=truth) for n in (1.0, 2.0, 4.0, 8.0))
    checked = fit(Series("mine", tuple(observations)))
    (line,) = truth_lines(checked)
    assert line.startswith(f"mine: the stated serial fraction, {percent(serial)}, is {where} the fitted range, ")
    assert line.endswith(f", {cells(checked)['serial']}")
    assert fit_facts(checked)["truth"] == {"serial_fraction": pytest.approx(serial), "inside": where == "inside"}


CAUTIONS = {
    CoresShared((16.0, 32.0)): "cores-shared",
    ClockUnknown(): "clock-unknown",
    OneCoreNotMeasured(2.0): "one-core-not-measured",
    OneLaunchPerCount(): "one-launch-per-count",
}


def test_every_caution_and_description_has_a_stable_code_and_words():
    assert {type(caution) for caution in CAUTIONS} == set(get_args(Caution))
    assert [caution.code for caution in CAUTIONS] == list(CAUTIONS.values())
    assert all(map(caution_sentence, CAUTIONS))
    assert [one.value for one in Description] == ["exactly", "closely", "roughly", "not-at-all", "unknown"]
    assert set(DESCRIPTION_WORDS) == set(Description)


@pytest.mark.parametrize("width", [72, 80, 100])
def test_a_table_fits_the_width_of_a_terminal(width):
    assert max(map(len, text_lines(fits_table([RAYS, EXACT, TWO], width)))) <= width
