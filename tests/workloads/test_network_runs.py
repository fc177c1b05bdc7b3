"""Every network of ours as the engine runs it: the same in every process, with the threads it is given, either mode."""

import pytest

from scaling.machine.sysfs import read_topology
from tests.conftest import need
from tests.runs import row_of, rows_of
from tests.workloads import network_rows
from tests.workloads.network_rows import STARTED
from tests.workloads.test_networks import NETWORKS


@pytest.fixture(scope="module")
def forked_twice():
    """Two launches of every network, each launch forked from a server of its own: interpreters that share nothing."""
    rows = rows_of(NETWORKS, size="small", max_seconds=0.2, cores=1, start="fork", in_company=True)
    return {name: [row for row in rows if row.run.point.workload == name] for name in NETWORKS}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_seed_gives_the_same_first_loss_in_every_process_and_pools_follow_the_mask(name, forked_twice):
    rows = [row_of(name, size="small", max_seconds=0.2, cores=1, in_company=True), *forked_twice[name]]
    assert [row.outcome.status for row in rows] == ["ok"] * 3, [row.outcome.reason for row in rows]
    assert len({row.outcome.first_loss for row in rows}) == 1
    assert {row.outcome.cautions for row in rows} == {()}
    assert {(row.witness.intra_pool, row.witness.inter_pool) for row in rows} == {(1, 1)}
    assert len({row.versions for row in rows}) == 1
    # At most 1.2 GB in all, of which TensorFlow's mapped code is at least 0.4; more of it where the page cache is warm.
    assert all(row.witness.max_rss_bytes - row.witness.mapped_file_bytes < 0.8e9 for row in rows)


# One of each sort is asked for where nobody else is busy, in test_network_threads.py.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start", "intra", "inter"), [*((*started, 2, 1) for started in STARTED), ("autoenc", "spawn", 1, 2)]
)
def test_threads_hold(name, start, intra, inter):
    need(len(read_topology().cores) >= 2, "two cores")
    row = network_rows.row(name, start, cores=2, intra=intra, inter=inter, max_seconds=1, in_company=True)
    network_rows.assert_threads_hold(row, intra, inter)
    assert row.witness.cpu_seconds / row.outcome.sections.run <= 2.05


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start", "cores"), [*((*started, 2) for started in STARTED), ("autoenc", "spawn", 1)])
def test_inference_runs(name, start, cores):
    need(len(read_topology().cores) >= cores, f"{cores} cores")
    row = network_rows.row(name, start, modes="infer", max_seconds=0.2, cores=cores, in_company=True)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.outcome.first_loss is None
    assert row.outcome.cautions == ()


def test_a_compiled_network_runs_too():
    row = row_of("autoenc", size="small", jit="true", max_seconds=0.2, start="fork", in_company=True)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.run.point.jit


def test_a_pipeline_has_its_threads_beside_the_pools_and_its_cpu_time_is_in_the_row():
    fed = {"data": "pipeline", "pipeline_threads": 2, "intra": 1, "inter": 1}
    row = row_of("autoenc", size="small", max_seconds=0.5, start="fork", in_company=True, **fed)
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.outcome.cautions == ()
    assert (row.witness.intra_pool, row.witness.inter_pool, row.witness.pipeline_pool) == (1, 1, 2)
    assert 0 < row.witness.pipeline_cpu_seconds < row.witness.cpu_seconds
    assert set(row.witness.cpus_visited) == set(row.witness.cpus_at_start)


def test_a_file_that_makes_no_network_is_fed_with_nothing_else(tmp_path):
    (tmp_path / "mine.py").write_text("def build(setting):\n    return lambda: None\n")
    row = row_of(f"{tmp_path}/mine.py:build", data="fresh", in_company=True)
    assert "data = 'fresh'" in row.outcome.reason
