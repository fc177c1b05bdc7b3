import numpy as np
import pytest

from scaling.workloads.base import Setting
from scaling.workloads.stream import build as stream
from tests.runs import row_of

SETTING = Setting("infer", "small", items=None, times=1, cores=1, smt=1, intra=3, inter=1, seed=1)


@pytest.mark.parametrize(("workload", "items"), [("matmul", 8), ("stream", 240)])
def test_a_ceiling_is_measured_like_any_run_and_its_items_are_its_unit(workload, items):
    row = row_of(workload, size="small")
    assert row.outcome.reason is None
    assert row.outcome.items_per_step == items


def test_every_thread_adds_its_share_of_all_bytes():
    made = stream(SETTING)
    made.prepare()
    made.step()
    assert len(made.shares) == 3
    assert 24 * sum(share.elements for share in made.shares) == 240 * 10**6
    assert all(np.all(share.a == 3.0) for share in made.shares)


def test_a_product_is_as_many_gigaflops_as_it_has_items():
    from scaling.workloads.matmul import SIDE, build

    made = build(SETTING._replace(items=2, times=2))
    assert made.items_per_step == 4
    assert 2 * SIDE * SIDE * made.inner == 4 * 10**9
