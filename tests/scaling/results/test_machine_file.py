import json
from dataclasses import replace

import pytest

from benchmarks.shared.machines import HOST, machine
from scaling.errors import StoreError
from scaling.results.machine_file import (
    machine_differences,
    machine_facts,
    read_machine_facts,
    read_machine_file,
    write_machine_facts,
)


def written(folder, topology, **facts):
    (folder / "machine.json").write_text(json.dumps({"host": "pretend", "topology": {**topology.facts(), **facts}}))
    return read_machine_file(folder).sizes()


def test_the_machine_of_a_folder_says_which_counts_it_has(tmp_path):
    sizes = written(tmp_path, machine(4, smt=2))
    assert (sizes.counts, sizes.machine, sizes.threads) == ((1, 2, 3, 4), "pretend", 2)


def test_a_quota_is_kept(tmp_path):
    assert written(tmp_path, machine(8), quota_cpus=2.5).counts == (1, 2)


def test_a_quota_of_whole_cores_offers_all_of_them_and_one_of_less_than_one_core_offers_one(tmp_path):
    assert written(tmp_path, machine(8), quota_cpus=2.0).counts == (1, 2)
    assert written(tmp_path, machine(8), quota_cpus=0.5).counts == (1,)


def test_a_folder_that_does_not_say_offers_nothing(tmp_path):
    assert read_machine_file(tmp_path) is None
    (tmp_path / "machine.json").write_text('{"host": "pretend"}')
    assert read_machine_file(tmp_path) is None


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "machine.json").write_text("{")
    with pytest.raises(StoreError, match=r"machine\.json cannot be read"):
        read_machine_file(tmp_path)


@pytest.mark.parametrize(
    ("facts", "why"),
    [({"core_cpus": ["0", ""]}, "a core has no CPU"), ({"allowed": "100"}, "none of its cores is allowed")],
)
def test_a_machine_on_which_nothing_can_be_placed_is_refused(tmp_path, facts, why):
    with pytest.raises(StoreError, match=rf"machine\.json does not describe a machine: {why}; restore or remove it"):
        written(tmp_path, machine(2), **facts)


def test_a_folder_keeps_the_machine_it_was_begun_on(tmp_path):
    assert read_machine_facts(tmp_path) is None
    write_machine_facts(tmp_path, machine_facts(HOST, machine(4)))
    write_machine_facts(tmp_path, machine_facts(HOST, machine(2)))
    assert read_machine_facts(tmp_path) == machine_facts(HOST, machine(4))


def test_another_machine_is_recognised_by_its_differences():
    begun = machine_facts(HOST, machine(4))
    assert machine_differences(begun, machine_facts(HOST, machine(4)), same_host=True) == []
    assert machine_differences(begun, machine_facts(HOST, machine(2)), same_host=True) == [
        "online is '0-1' instead of '0-3'",
        "allowed is '0-1' instead of '0-3'",
    ]


def test_nodes_of_one_type_have_names_of_their_own():
    begun, other = (machine_facts(replace(HOST, host=name), machine(4)) for name in ("n1", "n2"))
    assert machine_differences(begun, other, same_host=True) == ["host is 'n2' instead of 'n1'"]
    assert machine_differences(begun, other, same_host=False) == []


def test_groups_that_name_every_cpu_again_and_again_are_refused(tmp_path):
    with pytest.raises(StoreError, match="its groups name more than 1048560 CPUs; restore or remove it"):
        written(tmp_path, machine(4), socket_cpus=["0-65535"] * 20)
