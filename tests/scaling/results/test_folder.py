from pathlib import Path

import pytest

from scaling.errors import StoreError
from scaling.machine.doctor.findings import Finding
from scaling.results.folder import read_folder
from scaling.results.store import FINDINGS, Store
from tests.pretend import HOST, machine, row

LOAD = Finding("load", "spoiler", "3.1 on 2 CPUs", "it takes time away", "stop it")


def written(folder, rows=1):
    store = Store(folder)
    store.write_study('workloads = ["calibrated"]\n')
    store.write_machine(HOST, machine(4, smt=2))
    store.write_findings([LOAD])
    for _ in range(rows):
        store.append(row())
    store.close()
    return folder


def test_a_folder_is_read_whole(tmp_path):
    folder = read_folder(written(tmp_path / "mine"))
    assert (folder.name, len(folder.rows), folder.study_toml) == ("mine", 1, 'workloads = ["calibrated"]\n')
    assert folder.findings == (LOAD,)
    assert (folder.machine.host, folder.machine.cores[1]) == ("pretend", (2, 3))


def test_what_an_older_sweep_did_not_write_is_none(tmp_path):
    written(tmp_path)
    for name in ("study.toml", "machine.json", FINDINGS):
        (tmp_path / name).unlink()
    folder = read_folder(tmp_path)
    assert (folder.study_toml, folder.machine, folder.findings) == (None, None, None)


def test_a_folder_without_a_row_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no rows in"):
        read_folder(written(tmp_path, rows=0))


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "load"}]'])
def test_findings_that_are_none_are_refused(tmp_path, text):
    written(tmp_path)
    (tmp_path / FINDINGS).write_text(text)
    with pytest.raises(StoreError, match=r"doctor\.json does not hold findings"):
        read_folder(tmp_path)


@pytest.mark.parametrize("facts", ['{"topology": {"core_cpus": [1]}}', '{"topology": {"core_cpus": ["x"]}}'])
def test_a_machine_file_that_describes_none_is_refused(tmp_path, facts):
    written(tmp_path)
    (tmp_path / "machine.json").write_text(facts)
    with pytest.raises(StoreError, match="does not describe a machine"):
        read_folder(tmp_path)


def test_the_plain_steps_of_a_profile_are_rows_where_there_are_no_others():
    kept = read_folder(Path(__file__).parents[3] / "docs" / "examples" / "profiles-small")
    assert len(kept.rows) == len(kept.traces) == 32
    assert all(row.outcome.step_seconds for row in kept.rows)
