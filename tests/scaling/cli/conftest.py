"""Folders and tables that several commands are tested with."""

from dataclasses import replace

import pytest

from benchmarks.shared.machines import HOST, AmdahlMachine, machine, study
from scaling.machine.topology import parse_list
from scaling.results.store import Store
from scaling.study.planning import plan
from tests.scaling.machine.invented import POWER9, files, write


@pytest.fixture
def csv(tmp_path):
    def write_csv(points, column="throughput", name="mine"):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"cores,{column}\n" + "".join(f"{n},{value}\n" for n, value in points))
        return path

    return write_csv


@pytest.fixture
def sixteen_cores(tmp_path):
    """The results of a sweep on a pretend machine of sixteen cores."""
    question, host = study('cores = "doubling"\nlaunches = 3'), machine(16)
    store = Store(tmp_path / "results")
    store.write_machine(HOST, host)
    for row in AmdahlMachine(serial=0.1).execute(plan(question, host).runs):
        store.append(row)
    return tmp_path / "results"


@pytest.fixture(scope="module")
def power9(tmp_path_factory):
    return write(tmp_path_factory.mktemp("power9"), files(replace(POWER9, quota_cpus=2.5, allowed=parse_list("0-103"))))
