from scaling.api.roofline import rooflines
from scaling.features.energy.economy import cap_effects
from scaling.features.energy.report import caps_table, economy_facts, energy_sentences
from tests.scaling.api.test_roofline import MACHINE, capped

__all__ = ["capped"]


def test_what_bounds_a_workload_stands_beside_what_a_cap_does_to_it(capped):
    against = rooflines(capped, MACHINE, "90,1")
    effects = cap_effects(capped)
    table = caps_table(effects, against)
    bounds = {one.reference.point.workload: cells[-1] for one, cells in zip(effects, table.rows, strict=True)}
    assert bounds["alexnet"].startswith("compute, ")
    assert bounds["autoenc"].startswith("memory, ")
    assert bounds["calibrated"] == "not available"
    far_below = rooflines(capped, MACHINE, "1e9,1e8")
    assert {cells[-1].split(",")[0] for cells in caps_table(effects, far_below).rows} == {"neither", "not available"}
    facts = economy_facts(capped, far_below)["caps"]
    assert {one["bound_by"] for one in facts} == {"neither", None}
    facts = economy_facts(capped, against)["caps"]
    assert {one["point"]["workload"]: one["bound_by"] for one in facts} == {
        "alexnet": "compute",
        "autoenc": "memory",
        "calibrated": None,
    }
    assert not any("-bound" in sentence for sentence in energy_sentences(capped))
    assert {cells[-1] for cells in caps_table(effects).rows} == {"not available"}
