from dataclasses import replace

import pytest

from scaling.api.results import load
from scaling.errors import StoreError
from tests.scaling.cli.folders import folder_of, swept_rows


@pytest.fixture
def folder(tmp_path):
    return folder_of(tmp_path / "results", swept_rows())


def test_selected_points_keep_their_speedup_over_one_core_that_is_not_selected(folder):
    points = load(folder).where("cores>=2,cores!=4").points
    assert list(points["cores"]) == [2]
    assert list(points["speedup"]) == pytest.approx([1 / 0.55], rel=0.01)


def test_every_condition_must_hold_whether_given_at_once_or_later(folder):
    results = load(folder)
    assert list(results.where("cores>=2,cores<=2").points["cores"]) == [2]
    assert list(results.where("cores>=2").where("cores<=2").points["cores"]) == [2]


def test_points_of_a_file_with_fractional_counts_have_their_launches(tmp_path):
    (tmp_path / "mine.csv").write_text("cores,seconds\n0.5,2.1\n0.5,2.0\n0.5,2.05\n1,1.0\n")
    assert list(load(tmp_path / "mine.csv").points["launches"]) == [3, 1]


def test_results_of_another_processor_are_compared_only_if_that_is_asked_for(folder, tmp_path):
    elsewhere = [replace(row, machine=replace(row.machine, fingerprint="f" * 16)) for row in swept_rows(seed=2)]
    one, other = load(folder), load(folder_of(tmp_path / "other", elsewhere))
    with pytest.raises(StoreError, match="across_machines=True"):
        one.compare(other)
    assert len(one.compare(other, across_machines=True).differences) == 3
