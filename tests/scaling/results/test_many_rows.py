import os
import pickle
from dataclasses import replace

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis import rules
from scaling.api.results import load
from scaling.errors import StoreError
from scaling.reporting.fits import fit_sentence
from scaling.reporting.losses import loss_sentences, losses_table
from scaling.reporting.page import provenance
from scaling.reporting.page.page import totals
from scaling.reporting.plots.drawing import NotDrawn, draw_page_figures
from scaling.reporting.plots.placement import used_of
from scaling.reporting.plots.specification import series_lines
from scaling.reporting.points import evaluation_notes, point_facts, point_remarks, points_table, quantiles_table
from scaling.results import many_rows
from scaling.results.evaluation import evaluate
from scaling.results.rows import Outcome, Sections, row_to_json
from scaling.results.sections import has_sections
from scaling.results.store import RowCensus, period, read_folder
from scaling.study.planning import plan


@pytest.fixture
def folder(tmp_path):
    runs = plan(study(cores='"all"', launches="3", items="[1, 2]"), machine(8)).runs
    lines = [row_to_json(row) for row in AmdahlMachine().execute(runs)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{line}\n" for line in [*lines, lines[3]]))
    return tmp_path


@pytest.fixture
def by_processes(monkeypatch):
    """Small files are read by two processes too, a few lines at a time."""
    monkeypatch.setattr(many_rows, "LEAST_BYTES", 0)
    monkeypatch.setattr(many_rows, "PIECE_BYTES", 10_000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})


def test_processes_read_what_one_reads(folder, by_processes, monkeypatch):
    census, alone = RowCensus(), RowCensus()
    read = list(many_rows.read_launches(folder, census))
    monkeypatch.setattr(many_rows, "LEAST_BYTES", 2**40)
    assert read == list(many_rows.read_launches(folder, alone))
    assert (census.repeated, census.machines) == (alone.repeated, alone.machines)
    assert census.repeated == 1


def described(results):
    """All that is shown of the points of results, and what the first series say."""
    source = results.sources[0]
    points = source.points
    tables = [points_table(points), quantiles_table(points), losses_table(points)]
    facts = [point_facts(point) for point in points]
    sentences = [*loss_sentences(points), *point_remarks(points), *source.notes]
    return tables, facts, sentences, [fit_sentence(one) for one in source.first_fits(5)[0]]


def printed(results):
    """What a table of points has, and the sentences below it."""
    source = results.sources[0]
    points = source.table_points
    sentences = [*loss_sentences(points), *point_remarks(points), *source.notes]
    return points_table(points), sentences, [fit_sentence(one) for one in source.first_fits(5)[0]]


@pytest.mark.parametrize(
    "axes", [{}, {"cores": "[1, 2]"}, {"smt": '"all"', "items": "[1]"}, {"quota": '["none", 1.5]'}]
)
@pytest.mark.usefixtures("by_processes")
def test_points_made_by_processes_are_shown_as_those_made_by_one(tmp_path, monkeypatch, axes):
    runs = plan(study(**{"cores": '"all"', "launches": "3", "items": "[1, 2, 3]"} | axes), machine(4, 2)).runs
    rows = [
        replace(row, outcome=replace(row.outcome, cautions=("odd",) * (row.run.launch == 1)))
        for row in AmdahlMachine().execute(runs)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(f"{row_to_json(row)}\n" for row in [*rows, rows[3]]))
    several = described(load(tmp_path)), printed(load(tmp_path))
    monkeypatch.setattr(many_rows, "LEAST_BYTES", 2**40)
    assert several == (described(load(tmp_path)), printed(load(tmp_path)))


@pytest.mark.usefixtures("by_processes")
def test_points_are_made_by_one_process_where_a_line_is_torn(folder):
    with (folder / "rows.jsonl").open("a") as end:
        end.write('{"schema": 1, "ru')
    assert len(load(folder).sources[0].points) == 16


def test_a_rule_that_travels_stays_the_one_that_it_is():
    assert pickle.loads(pickle.dumps(rules.STEAL)) is rules.STEAL  # noqa: S301


@pytest.mark.usefixtures("by_processes")
def test_a_line_that_cannot_be_read_is_named_by_its_number(folder):
    file = folder / "rows.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:4], "{}\n", *lines[4:]]))
    with pytest.raises(StoreError, match="line 5 is not a row"):
        list(many_rows.read_launches(folder, RowCensus()))


@pytest.mark.usefixtures("by_processes")
def test_a_torn_last_line_is_passed_over(folder):
    file = folder / "rows.jsonl"
    whole = len(list(many_rows.read_launches(folder, RowCensus())))
    with file.open("a") as end:
        end.write('{"schema": 1, "ru')
    assert len(list(many_rows.read_launches(folder, RowCensus()))) == whole


@pytest.mark.usefixtures("by_processes")
def test_a_table_written_by_processes_is_the_one_that_one_process_writes(folder, tmp_path, monkeypatch):
    load(folder).export(tmp_path / "several.csv")
    monkeypatch.setattr(many_rows, "LEAST_BYTES", 2**40)
    load(folder).export(tmp_path / "one.csv")
    assert (tmp_path / "several.csv").read_text() == (tmp_path / "one.csv").read_text()


@pytest.mark.usefixtures("by_processes")
def test_a_large_folder_says_what_its_page_leaves_out(folder):
    large = evaluate(many_rows.read_large_folder(folder, full=False, most_series=1), most_series=1)
    small = evaluate(read_folder(folder))
    assert points_table(large.points) == points_table(small.points)
    assert (large.series_fitted, len(large.fits), len(small.fits)) == (1, 1, 2)
    assert large.fits[0].series == small.fits[0].series
    assert any("those of the first 1 series" in note for note in evaluation_notes(large))
    reasons = {one.kind: one.reason for one in draw_page_figures(large) if isinstance(one, NotDrawn)}
    assert "not kept for a page" in reasons["steps"]


def odd_rows():
    """Rows of two machines, of which some failed, and that differ in all that a page says of them."""
    runs = plan(study(cores='"all"', launches="3", items="[1, 2, 3]", smt='"all"'), machine(4, 2)).runs
    for number, row in enumerate(AmdahlMachine().execute(runs)):
        yield replace(
            row,
            machine=replace(row.machine, host=f"host{number % 7 == 5}"),
            versions=(*row.versions, ("library", str(number // 20))),
            environment=(("HOME", "/home/me"), ("THREADS", str(number % 3))),
            started_at=f"2026-01-{1 + number * 7 % 28:02d}T00:00:00.000+00:00",
            outcome=replace(row.outcome, sections=Sections(spawn=0.1, imports=0.2, run=1.0 + number / 100, wall=2.0))
            if number % 10
            else Outcome("failed", f"reason {number % 3}", stderr_tail=f"{number}"),
        )


def stated(folder):
    """All that a page says of the rows of a folder, and what its figures are drawn from."""
    result = evaluate(folder)
    names = ("failures", "identity", "versions", "environment", "left_out")
    said = {name: getattr(provenance, name)(folder.rows) for name in names}
    known = [row for row in folder.rows if has_sections(row)]
    lines = series_lines(result)
    cores = {line.name: (line.points[0].summary.point, line.points[-1].summary.point) for line in lines}
    ends = [row.outcome.sections for pair in cores.values() for row in known if row.run.point in pair]
    return (
        said,
        period(folder.rows),
        totals(result),
        used_of(result),
        ends,
        points_table(result.points),
        evaluation_notes(result),
    )


@pytest.mark.usefixtures("by_processes")
def test_the_rows_that_are_kept_of_a_large_folder_say_what_all_of_them_say(tmp_path):
    rows = list(odd_rows())
    (tmp_path / "rows.jsonl").write_text("".join(f"{row_to_json(row)}\n" for row in [*rows, rows[3]]))
    large = many_rows.read_large_folder(tmp_path, full=False, most_series=40)
    assert stated(large) == stated(read_folder(tmp_path))
    assert len(large.rows) < len(rows)
