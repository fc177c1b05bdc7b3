"""A search held against its grid: all settings in every cohort, and intervals of a randomised block design."""

from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from benchmarks.grids import GRID, TUNE, Blocks, GridSchedule, table_row
from benchmarks.shared.machines import launch_chance, machine, row, study
from scaling.results.rows import launch_of
from scaling.results.store import Store
from scaling.results.tuning import Search, write_search
from scaling.running.tuning_schedule import TuningSchedule
from scaling.study.planning import block
from scaling.study.tuning import cpus_of, grid

HOST = machine(4)
SIXTEEN = Path(__file__).parents[2] / "docs" / "examples" / "tunes-sixteen"
STUDY = study('design = "turns"\nrounds = 1\ncores = [4]\nintra = ["auto", 1, 2, 4]\ninter = ["auto", 1, 2]\n')
SECONDS = {1: 4.0, 2: 1.0, 4: 1.5, 0: 2.0}


def write(folder, search, kind, launches=1):
    schedule = kind(STUDY, search.grid.points, search.space, lambda points, number: block(STUDY, HOST, points, number))
    schedule.launches = launches
    folder.mkdir(parents=True)
    store = Store(folder)
    for run in schedule:
        chance = launch_chance(run)
        seconds = SECONDS[run.point.threads(run.point.intra)] * (1 + 0.1 * (run.point.inter == 2))
        made = row(run, step_seconds=(seconds * exp(chance.gauss(0, 0.01)),) * 5)
        store.append(made)
        schedule.record(launch_of(made))
    store.close()
    write_search(folder, search)


def test_a_folder_is_a_row_of_the_table(tmp_path):
    settings = grid(STUDY, HOST, {"calibrated": {}})
    search = Search(settings, tuple(cpus_of(STUDY, HOST, point) for point in settings.points))
    write(tmp_path / TUNE, search, TuningSchedule)
    write(tmp_path / GRID, search, GridSchedule, 3)
    workload, winner, best, ratio, within, other, gain, recipe, *launches = table_row(tmp_path)
    assert workload == "calibrated train, published, 4 cores"
    assert (winner, best, ratio, within) == ("intra 2, inter 1", "intra 2, inter 1", "1.000", "yes")
    assert (other, launches[-1]) == (winner, "3")
    low, high = map(float, gain.split("(")[1].rstrip(")").split(" to "))
    assert 1.9 < low < 2.0 < high < 2.1
    assert recipe.startswith("0.7")


@pytest.mark.parametrize("folder", sorted(SIXTEEN.iterdir()), ids=lambda folder: folder.name)
def test_searches_on_sixteen_cores_end_within_noise_of_their_grids(folder):
    workload, winner, _, _, within, other, gain, *_ = table_row(folder)
    assert ("published, 16 cores" in workload, within) == (True, "yes")
    assert "default" not in other
    assert "default" in winner or "not confirmed" in winner
    low, _, _ = gain.partition("(")[2].partition(" to ")
    assert float(low) <= 1, "it is shown to beat the default"


def test_the_interval_pools_the_residuals_of_all_settings():
    logs = np.array([[0.0, log(2), 0.01], [0.02, log(2) + 0.0, 0.0], [0.0, log(2), 0.02]])
    blocks = Blocks((0, 1, 2), logs)
    twice = blocks.ratio(1, 0)
    assert twice.value == pytest.approx(2 * exp(-0.02 / 3))
    assert twice.low < 2 < twice.high < 2.1
    assert blocks.ratio(2, 0).contains(1.0)
    assert Blocks((0, 1), logs[:1, :2]).ratio(1, 0).low is None
