import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.results import first_series
from scaling.results.first_series import FirstSeries
from scaling.results.rows import row_identity
from scaling.study.planning import plan

ROWS = [*AmdahlMachine().execute(plan(study('items = [1, 2, 3]\ncores = "1-4"\nlaunches = 2'), machine(8)).runs)]


@pytest.mark.parametrize(("most", "items"), [(9, {1, 2}), (8, {1, 2}), (7, {1}), (1, {1}), (12, {1, 2, 3})])
@pytest.mark.parametrize("rows", [ROWS, ROWS[::-1]])
def test_the_first_series_are_kept_whole_in_whatever_order_rows_come(monkeypatch, most, items, rows):
    monkeypatch.setattr(first_series, "OFTEN", 3)
    first = FirstSeries(most)
    kept = list(first.keep(rows))
    assert sorted(map(row_identity, kept)) == sorted(row_identity(row) for row in ROWS if row.run.point.items in items)
    assert bool(first.notes) is (len(items) < 3)


def test_the_note_says_how_many_series_and_points_there_are():
    first = FirstSeries(9)
    first.keep(ROWS)
    (note,) = first.notes
    assert note.startswith("this page has the first 2 of 3 series, 8 of 12 points; ")
