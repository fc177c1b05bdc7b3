import pytest

from benchmarks.pretend_studies import NETWORKS, STUDIES, pretend_machine, pretend_study, rows, write_study
from scaling.api.results import load
from scaling.results.rows import launch_of
from scaling.study.planning import plan


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_made_up_on_two_sockets_with_smt(name):
    study, machine = pretend_study(name), pretend_machine()
    made = list(rows(study, plan(study, machine).runs))
    assert {row.run.point.workload for row in made} == set(NETWORKS)
    assert max(row.run.point.cores for row in made) == 16
    assert all(launch_of(row).seconds for row in made)


def test_a_made_up_study_is_an_ordinary_results_folder(tmp_path):
    runs = write_study("weak", tmp_path / "weak")
    results = load(tmp_path / "weak")
    assert len(results.rows) == runs
    assert {fit.law for fit in results.fits.values()} == {"gustafson"}
