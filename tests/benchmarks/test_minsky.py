from pathlib import Path

import pytest

from benchmarks.minsky import TABLE_2, beside_table_2, main, shares_with
from scaling.results.evaluation import sections_of
from tests.scaling.reporting.results import made

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "minsky-sixteen"


def test_the_tables_of_the_document_are_made_from_rows(capsys):
    main(EXAMPLE)
    printed = capsys.readouterr().out
    assert "| 16 | 58 % | 52 % | 51 % | 50 % | 30 % | 16 % | 14 % | 6 % |" in printed
    assert printed.count("### ") == 2


def test_sections_stand_beside_those_of_the_study_for_as_many_steps():
    (point,) = sections_of(made('workloads = "vgg"\ncores = "most"\nlaunches = 3')).points
    few, many = shares_with(point, 10), shares_with(point, 210)
    assert many[2] > few[2]
    assert sum(many) < 1.0
    assert f"| vgg | {TABLE_2['vgg'][0]:.3f} → {few[0]:.3f} |" in beside_table_2([point])[-1]
    assert shares_with(point, point.steps)[2] == pytest.approx(
        point.seconds["run"].median / point.seconds["wall"].median
    )
