"""The cells of the coverage benchmark on few sets: wide bands, but every promise of the method is in them."""

import numpy as np
import pytest

from benchmarks.coverage import CELLS

CHEAP = (
    "C1 s=0.02",
    "C1 s=0.9",
    "C2 s=0.02",
    "C3 constant",
    "C4",
    "C5 s=0.05",
    "M1",
    "M2",
    "E1 amdahl",
    "E2",
    "A 0.95",
)
CHEAP += ("S1 phi", "S2 parallel", "S2 warned", "N1", "N2 hard saturation, 1", "N2 structural break, 5")
CHEAP += ("B s 5 %", "B k=1e-4", "K 5 %")
SETS = 60
# Four standard errors of a share near 0.95 over so many sets.
SLACK = 4 * (0.95 * 0.05 / SETS) ** 0.5


def test_every_cell_has_a_name_of_its_own():
    names = [cell.name for cell in CELLS]
    assert len(set(names)) == len(names)
    assert set(CHEAP) <= set(names)


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.name in CHEAP], ids=lambda cell: cell.name)
def test_a_cell_meets_its_band_on_a_few_simulated_sets(cell):
    sets = 12 if cell.name[0] in "SN" else SETS
    slack = 0.3 if cell.name.startswith("C5") else SLACK
    value = cell.measure(sets, np.random.default_rng(2))
    assert cell.least - slack <= value <= cell.most + slack
