from dataclasses import replace

import pytest

from benchmarks.shared.machines import HOST, study
from benchmarks.shared.power import metered_rows
from scaling.analysis.summary import summarize
from scaling.api import roofline
from scaling.api.roofline import achieved_in, rooflines
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from tests.scaling.reporting.results import made, written


def test_folders_of_several_machines_are_refused(tmp_path):
    rows, elsewhere = made("cores = [1, 2]"), replace(HOST, fingerprint="fedcba9876543210")
    first = written(rows, tmp_path / "first")
    second = written([replace(row, machine=elsewhere) for row in rows], tmp_path / "second")
    with pytest.raises(StoreError, match="come from 2 machines;"):
        achieved_in([first, second])


MACHINE = frozenset({HOST.fingerprint})
CAPS = 'workloads = ["alexnet", "autoenc", "calibrated"]\ncores = [4]\ncpu_power_watts = ["none", 15]\nlaunches = 5'


@pytest.fixture
def capped(monkeypatch):
    """Networks under a cap: alexnet does a hundred operations per byte, autoenc one."""

    def pass_counts(names, size, mode):
        known = {"alexnet": 5.0, "autoenc": 0.05}
        sizes = {"parameters": 1, "weights_bytes": 4, "traffic_bytes_per_item": 1e8, "traffic_bytes_per_step": 0.0}
        return {name: {"gmacs_per_item": known[name], **sizes} for name in names}

    monkeypatch.setattr(roofline, "pass_counts", pass_counts)
    return summarize(map(launch_of, metered_rows(study(CAPS))))


def test_ceilings_of_a_folder_hold_for_the_cores_of_its_machine(capped, tmp_path):
    measured = made('workloads = ["matmul", "stream"]\nmodes = ["infer"]\ncores = [4]')
    folder = written(measured, tmp_path / "ceilings")
    assert {one.bound_by for one in rooflines(capped, MACHINE, str(folder)).values()} <= {"compute", "memory"}
    on_gpu = [replace(one, point=replace(one.point, device="gpu")) for one in capped]
    assert rooflines(on_gpu, MACHINE, str(folder)) == {}
    with pytest.raises(StoreError, match="come from different machines"):
        rooflines(capped, frozenset({"fedcba9876543210"}), str(folder))
