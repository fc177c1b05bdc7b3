import json

import pytest

from scaling.errors import StoreError
from scaling.results.machine_file import read_machine_file
from tests.pretend import machine


def written(folder, topology, **facts):
    (folder / "machine.json").write_text(json.dumps({"host": "pretend", "topology": {**topology.facts(), **facts}}))
    return read_machine_file(folder).sizes()


def test_the_machine_of_a_folder_says_which_counts_it_has(tmp_path):
    found = written(tmp_path, machine(4, smt=2))
    assert (found.counts, found.machine, found.threads) == ((1, 2, 3, 4), "pretend", 2)


def test_a_quota_is_kept(tmp_path):
    assert written(tmp_path, machine(8), quota_cpus=2.5).counts == (1, 2)


def test_a_folder_that_does_not_say_offers_nothing(tmp_path):
    assert read_machine_file(tmp_path) is None
    (tmp_path / "machine.json").write_text('{"host": "pretend"}')
    assert read_machine_file(tmp_path) is None


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "machine.json").write_text("{")
    with pytest.raises(StoreError, match=r"machine\.json cannot be read"):
        read_machine_file(tmp_path)
