"""The sections of whole processes in a table and in sentences."""

from dataclasses import replace

from scaling.reporting.sections import flat_sections, sections_notes, sections_table
from scaling.reporting.words import text_lines
from scaling.results.sections import sections_of
from tests.scaling.reporting.results import made


def test_the_table_has_the_sections_of_the_study_over_the_wall_time_on_the_most_cores():
    sections = sections_of(made("cores = [1, 2]\nlaunches = 3"))
    header, one, two = text_lines(sections_table(sections))
    names = [
        "workload",
        "cores",
        "INIT",
        "SETUP",
        "RUN",
        "MAIN",
        "WALL",
        "wall",
        "start and imports",
        "steps",
        "launches",
    ]
    assert " ".join(header.split()) == " ".join(names)
    assert "1.0000 (" in two
    assert "1.0000 (" not in one
    assert two.split()[-2:] == ["40", "3"]


def test_runs_that_were_forked_are_told_of():
    rows = made("cores = [1, 2]\nlaunches = 3")
    first, *others = sections_notes(sections_of([replace(rows[0], run=replace(rows[0].run, start="fork")), *rows[1:]]))
    assert "relative to the wall time" in first
    assert others == ["left out: 1 forked run, as a server did their imports, which no section has"]


def test_the_sections_of_a_point_are_columns_of_a_table_too():
    facts = flat_sections(sections_of(made("cores = [2]\nlaunches = 3")).points[-1])
    assert facts["wall_normalised"] == 1.0
    assert facts["main_seconds"] > facts["run_seconds"]
