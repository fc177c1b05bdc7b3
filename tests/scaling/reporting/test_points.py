from collections import Counter
from dataclasses import replace
from operator import attrgetter

import pytest

from benchmarks.shared.machines import HOST, AmdahlMachine, machine, study
from scaling.analysis import rules
from scaling.analysis.comparison import Comparison, compare, compare_backends
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.reporting.losses import loss_sentences
from scaling.reporting.points import (
    BARS,
    backends_table,
    census_notes,
    comparison_answer,
    comparison_facts,
    flat_sections,
    gate_sentence,
    point_remarks,
    points_table,
    series_words,
    sparklines_table,
)
from scaling.reporting.words import point_words, text_lines
from scaling.results.evaluation import sections_of
from scaling.results.rows import launch_of
from scaling.results.store import RowCensus
from scaling.study.planning import plan
from tests.scaling.reporting.results import made, stolen


def lines(toml, serial=0.1, change=lambda row: row):
    rows = map(change, AmdahlMachine(serial, noise=0.01).execute(plan(study(toml), machine()).runs))
    return text_lines(sparklines_table(speedups(summarize(map(launch_of, rows)))))[1:]


def test_a_bar_falls_with_efficiency():
    (line,) = lines('cores = "doubling"', serial=0.3)
    assert line.split()[2:] == [f"{BARS[7]}{BARS[6]}{BARS[4]}{BARS[2]}", "1–8", "cores", "32.7", "%"]


def test_every_series_has_a_line_and_a_single_count_none():
    assert len(lines('cores = "doubling"\nitems = [1, 2]')) == 2
    assert lines("cores = [1]") == []


def table(toml):
    rows = AmdahlMachine(noise=0.01).execute(plan(study(toml), machine()).runs)
    return points_table(speedups(summarize(map(launch_of, rows))))


def test_what_steps_are_fed_with_has_columns_where_it_is_no_fixed_batch_and_a_pipeline_its_share():
    def with_pipeline(row):
        if row.run.point.pipeline_threads is None:
            return row
        return replace(row, witness=replace(row.witness, cpu_seconds=2.0, pipeline_cpu_seconds=0.25))

    fed = 'workloads = "autoenc"\ncores = [1]\ndata = ["fixed", "pipeline"]\npipeline_threads = [1, 2]'
    rows = map(with_pipeline, AmdahlMachine(noise=0.01).execute(plan(study(fed), machine()).runs))
    points = speedups(summarize(map(launch_of, rows)))
    shown = points_table(points)
    assert (*shown.headers[1:3], shown.headers[-3]) == ("data", "pipeline_threads", ">pipeline CPU")
    assert [(*row[1:3], row[-3]) for row in shown.rows] == [
        ("fixed", "-", "-"),
        ("pipeline", "1", "12.5 %"),
        ("pipeline", "2", "12.5 %"),
    ]
    assert [point_words(point.summary.point) for point in points] == [
        "autoenc train, 1 core, compact",
        "autoenc train, 1 core, compact, data pipeline, pipeline threads 1",
        "autoenc train, 1 core, compact, data pipeline, pipeline threads 2",
    ]
    assert series_words(points[1].summary.point) == "autoenc train compact data pipeline pipeline threads 1"


def test_several_frameworks_are_named_and_side_by_side():
    axes = 'workloads = ["fcn"]\nframework = {}\ncores = [1, 2]\nlaunches = 2'
    alone, side_by_side = (
        speedups(summarize(map(launch_of, AmdahlMachine().execute(plan(study(axes.format(names)), machine(2)).runs))))
        for names in ('["tensorflow"]', '["tensorflow", "torch"]')
    )
    table = backends_table(compare_backends(point.summary for point in side_by_side))
    assert table.headers == ("workload", ">cores", ">tensorflow", ">torch")
    assert [row[:2] for row in table.rows] == [("fcn", "1"), ("fcn", "2")]
    assert all(sorted("×" in cell for cell in row[2:]) == [False, True] for row in table.rows)
    assert [name for name, *_ in sparklines_table(alone).rows] == ["fcn train"]
    assert [name for name, *_ in sparklines_table(side_by_side).rows] == ["fcn train tensorflow", "fcn train torch"]
    assert [words.partition(":")[0] for words in loss_sentences(side_by_side)] == [
        "fcn train tensorflow",
        "fcn train torch",
    ]


def test_a_point_that_is_disturbed_has_no_bar():
    (line,) = lines(
        "cores = [1, 2, 4]\nlaunches = 3", change=lambda row: stolen(row) if row.run.point.cores == 4 else row
    )
    assert line.split()[2].endswith("·")
    assert line.endswith("disturbed")


def test_a_doubt_about_many_points_is_one_sentence_about_the_worst():
    runs = plan(study("cores = [1, 2, 4]\nlaunches = 3"), machine()).runs
    rows = [stolen(row) if row.run.point.cores > 1 else row for row in AmdahlMachine(noise=0.01).execute(runs)]
    remarks = point_remarks(speedups(summarize(map(launch_of, rows))))
    (disturbed,) = (remark for remark in remarks if "used its CPUs in every turn" in remark)
    assert disturbed.endswith("(in 3 of 3 launches); also at 1 other point")
    amounts = {1: 0.3, 2: 0.9, 4: 0.6}
    launches = [
        replace(one, doubts=(Doubt(rules.LOAD_ELSEWHERE, amounts[one.point.cores]),)) for one in map(launch_of, rows)
    ]
    (elsewhere,) = (one for one in point_remarks(speedups(summarize(launches)), [Verdict.OK]) if "elsewhere" in one)
    assert elsewhere.startswith("calibrated train, 2 cores, compact: ")
    assert "0.90 CPUs" in elsewhere


MEASURED = sorted({run.point for run in plan(study("cores = [1, 2, 4]"), machine(4)).runs}, key=attrgetter("cores"))


def compared(*changes: float, margin: float | None = None, doubts: tuple[Doubt, ...] = ()) -> Comparison:
    """Points that take so many times as long in the second results."""
    sides = [
        summarize(
            Launch(point, number, factor * (1 + number / 1e3), doubts=against)
            for point, factor in zip(MEASURED, factors, strict=True)
            for number in range(1, 9)
        )
        for factors, against in (((1.0,) * 3, ()), (changes, doubts))
    ]
    return compare(*sides, margin)


def test_the_largest_change_of_a_comparison_may_be_a_gain():
    answer = comparison_answer(compared(1.1, 0.7, 1.05))
    assert "calibrated train, 2 cores, compact, 30.0% faster" in answer


def test_a_gate_that_failed_names_the_slowest_point():
    assert "at 2 points; the largest change: calibrated train, 2 cores" in gate_sentence(
        compared(1.1, 1.3, 1.0, margin=0.05)
    )


def test_a_gate_that_passed_names_the_slowdown_that_it_cannot_rule_out():
    comparison = compared(1.01, 1.03, 0.9, margin=0.05)
    reach = comparison.differences[1].ratio.high - 1
    assert reach > 0.03
    assert gate_sentence(comparison).endswith(f"intervals reach up to {100 * reach:+.1f} %")
    assert f"{100 * reach:.1f}" != "3.0"


def test_the_facts_of_a_comparison_have_both_sides_and_a_ratio_where_there_is_one():
    fact = comparison_facts(compared(1.1, 0.7, 1.05))["points"][1]
    assert (fact["first_seconds"], fact["second_seconds"], fact["ratio"]) == pytest.approx((1.0, 0.7, 0.7), rel=1e-2)
    bound = comparison_facts(compared(1.1, 0.7, 1.05, doubts=(Doubt(rules.STEAL, 0.4),)))["points"][1]
    assert (bound["ratio"], bound["ratio_low"], bound["ratio_high"]) == (None, None, None)


def test_machines_of_a_folder_are_named_by_their_processors():
    census = RowCensus(machines=Counter({HOST: 2, replace(HOST, host="lent", cpu_model=None, fingerprint="f" * 16): 1}))
    (note,) = census_notes(census)
    assert "2 runs on pretend (Amdahl 470), 1 run on lent (x86_64)" in note


def test_the_sections_of_a_point_are_columns_of_a_table_too():
    facts = flat_sections(sections_of(made("cores = [2]\nlaunches = 3")).points[-1])
    assert facts["wall_normalised"] == 1.0
    assert facts["main_seconds"] > facts["run_seconds"]
