from scaling.reporting.page.tables import shared_apart
from scaling.reporting.words import Table


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
