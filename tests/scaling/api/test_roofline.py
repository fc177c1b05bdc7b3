from dataclasses import replace

import pytest

from benchmarks.shared.machines import HOST
from scaling.api.roofline import achieved_in
from scaling.errors import StoreError
from tests.scaling.reporting.results import made, written


def test_rows_without_a_network_are_refused_with_the_networks_there_are(tmp_path):
    folder = written(made("cores = [1, 2]"), tmp_path / "results")
    with pytest.raises(StoreError, match=r"no network was measured in .*results; there are .*alexnet"):
        achieved_in([folder])


def test_folders_of_several_machines_are_refused(tmp_path):
    rows, elsewhere = made("cores = [1, 2]"), replace(HOST, fingerprint="fedcba9876543210")
    first = written(rows, tmp_path / "first")
    second = written([replace(row, machine=elsewhere) for row in rows], tmp_path / "second")
    with pytest.raises(StoreError, match="come from 2 machines; a ceiling holds for one"):
        achieved_in([first, second])
