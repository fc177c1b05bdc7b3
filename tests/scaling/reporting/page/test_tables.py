from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import summarize
from scaling.reporting.page.tables import point_columns, point_rows, shared_apart
from scaling.reporting.points import points_table
from scaling.reporting.words import Table
from scaling.results.rows import launch_of
from scaling.study.planning import plan


def test_what_all_rows_share_is_taken_out_of_columns_and_of_names():
    rows = [("a, jax, GPU ≤ 200 W", "compact", "14", "1.2"), ("b, jax, GPU ≤ 500 W", "compact", "14", "1.2")]
    shared, table = shared_apart(Table(("point", "placement", ">cores", ">time"), rows))
    assert shared == "jax, placement compact, 14 cores"
    assert table == Table(("point", ">time"), [("a, GPU ≤ 200 W", "1.2"), ("b, GPU ≤ 500 W", "1.2")])


def test_a_name_that_is_all_shared_and_the_last_columns_stay():
    rows = [("a", "1", "ok"), ("a, jit", "2", "ok")]
    table = Table(("point", ">cores", "verdict"), rows)
    assert shared_apart(table, keep=1) == ("", table)


def test_a_table_of_one_row_is_as_it_is():
    table = Table(("point", ">cores"), [("a", "1")])
    assert shared_apart(table) == ("", table)


def test_an_interval_is_sorted_by_its_lower_end_and_not_at_all_without_a_width():
    rows = AmdahlMachine(noise=0.01).execute(plan(study("cores = [1, 2]"), machine()).runs)
    points = speedups(summarize(map(launch_of, rows)))
    table = points_table(points)
    columns = [f"{one.of} {one.name}".strip() for one in point_columns(table)]
    one, two = (dict(zip(columns, shown.cells, strict=True)) for shown in point_rows(points, table))
    assert two["speedup"].value == points[1].speedup.value
    assert two["speedup 95 %"].value == points[1].speedup.low < points[1].speedup.value
    assert two["efficiency 95 %"].value == points[1].efficiency.low
    assert (one["speedup"].value, one["speedup 95 %"].value) == (1.0, None)
