"""The cells of the coverage benchmark on few sets: wide bands, but every kind of truth is in them."""

import numpy as np
import pytest

from benchmarks.coverage import CELLS, covered

CHEAP = ("laws: Amdahl 0.1", "laws: USL 0.05, 1e-3", "laws: onset 20 %", "programs: two-state 8 %", "turns: steal")
SETS = 15


def test_every_cell_has_a_name_of_its_own():
    names = [cell.name for cell in CELLS]
    assert len(set(names)) == len(names)
    assert set(CHEAP) <= set(names)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.name in CHEAP], ids=lambda cell: cell.name)
def test_most_intervals_hold_the_truth(cell):
    found = covered(cell, 5, SETS, np.random.default_rng(2))
    assert "measured" in found
    for held, half_width in found.values():
        assert held >= 0.8
        assert half_width > 0.0
