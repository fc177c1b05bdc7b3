from dataclasses import replace

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.comparison import compare_backends
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.reporting.losses import loss_sentences
from scaling.reporting.points import (
    BARS,
    backends_table,
    flat_sections,
    points_table,
    series_words,
    sparklines_table,
)
from scaling.reporting.words import point_words, text_lines
from scaling.results.evaluation import sections_of
from scaling.results.rows import launch_of
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


def test_the_sections_of_a_point_are_columns_of_a_table_too():
    facts = flat_sections(sections_of(made("cores = [2]\nlaunches = 3")).points[-1])
    assert facts["wall_normalised"] == 1.0
    assert facts["main_seconds"] > facts["run_seconds"]
