"""Packs in words: what each division does, which is best, and what a lone replica would have promised."""

from dataclasses import replace

import msgspec
import pytest

from benchmarks.shared.machines import study
from benchmarks.shared.packs import PackedMachine, model, pack_study
from scaling.analysis.estimates import Estimate
from scaling.analysis.interference import PackedSeries, choose, packed_series, slowdowns
from scaling.analysis.step_times import step_times
from scaling.analysis.summary import summarize
from scaling.features.packs.report import (
    SLOWDOWN,
    choice_sentences,
    divisions_table,
    packs_facts,
    slowdown_table,
)
from scaling.reporting.schemas import outputs
from scaling.reporting.words import SCHEMA, json_text
from scaling.results.rows import launch_of
from tests.mentions import mentions
from tests.scaling.reporting.results import assert_question


@pytest.fixture(scope="module")
def series() -> PackedSeries:
    pretend = PackedMachine(slowdown=model(0.1), noise=0.001, drift=0.001)
    (one,) = packed_series(summarize(map(launch_of, pretend.rows(pack_study(launches="4")))))
    return one


def test_the_latencies_of_a_division_are_quantiles_of_its_steps(series):
    steps = [0.001 * number for number in range(1, 100)]
    one = series.filling[-1]
    made = replace(
        one, summary=replace(one.summary, used=(replace(one.summary.used[0], step_times=step_times(steps)),))
    )
    table = divisions_table(PackedSeries(series.settings, (made,)))
    cells = dict(zip(table.headers, table.rows[0], strict=True))
    assert [cells[name] for name in (">median", ">p95", ">p99")] == ["50 ms", "95 ms", "99 ms"]


def test_a_promise_without_an_interval_is_not_compared_and_the_sentence_says_so(series):
    *others, last = series.divisions
    promised = replace(last.lone, step=Estimate(last.lone.step.value))
    unsure = replace(series, divisions=(*others, replace(last, lone=promised)))
    _, sentence, *_ = choice_sentences(choose(unsure))
    assert mentions(sentence, "of the divisions whose promise has an interval, replicas … the most with 4 × 2")


def disturbed(cores: tuple[int, ...]) -> PackedSeries:
    """A host on which others took a CPU in all turns of replicas of so many cores."""
    launches = [launch_of(row) for row in PackedMachine().rows(pack_study(launches="4"))]
    stolen = [
        replace(one, turns=tuple(replace(turn, disturbance=1.0) for turn in one.turns))
        if one.point.cores in cores
        else one
        for one in launches
    ]
    (series,) = packed_series(summarize(stolen))
    return series


def test_of_disturbed_divisions_there_is_no_answer():
    facts = packs_facts([choose(disturbed((1, 2, 4)))])[0]
    assert (facts["best"], facts["is_answer"], facts["unknown"]) == (None, False, ["2 × 4", "4 × 2", "8 × 1"])


def test_a_division_that_could_not_be_compared_is_named_and_its_throughput_is_a_bound():
    series = disturbed((1,))
    sentences = choice_sentences(choose(series))
    assert "8 × 1" not in sentences[0]
    assert sentences[-1].startswith("not compared: 8 × 1 is disturbed; ")
    assert divisions_table(series).rows[-1][1].startswith("≥ ")


def test_facts_are_of_the_schema(series):
    facts = {"schema": SCHEMA, "packs": packs_facts([choose(series), choose(series, 0.001)]), "slowdowns": []}
    msgspec.json.decode(json_text(facts), type=outputs()["pack"])
    assert facts["packs"][0]["best"]["replicas"] in (2, 4)
    assert facts["packs"][1]["best"] is None


def test_mixed_packs_are_a_matrix():
    toml = 'workloads = ["calibrated", "stream"]\nbeside = ["calibrated", "stream"]\ncores = 4\ndesign = "turns"'
    rows = PackedMachine(slowdown=model(0.1), noise=0.001).rows(study(toml, launches="3"))
    found = slowdowns(summarize(map(launch_of, rows)))
    table = slowdown_table(found)
    assert table.headers == ("slowdown of", ">beside calibrated", ">beside stream")
    assert [[cell[:3] for cell in row[1:]] for row in table.rows] == [["1.1", "1.2"], ["1.2", "1.1"]]
    facts = {"schema": SCHEMA, "packs": [], "slowdowns": [*map(SLOWDOWN.of, found)]}
    msgspec.json.decode(json_text(facts), type=outputs()["pack"])


def test_its_question_is_the_study_s_own():
    assert_question("packs-published", "replicas")
