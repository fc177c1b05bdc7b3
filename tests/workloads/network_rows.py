"""Real runs of every network at its small size, most of them forked from one server: TensorFlow is imported once."""

from functools import cache

from scaling.results.rows import Row
from tests.runs import row_of, rows_of
from tests.workloads.test_networks import NETWORKS

# What a network does it does however it was started; two of them show that an interpreter of its own changes nothing.
STARTED = [*((name, "fork") for name in NETWORKS), ("autoenc", "spawn"), ("deepq", "spawn")]


@cache
def forked(**keys: object) -> dict[str, Row]:
    """A run of every network, forked beside those of all others."""
    rows = rows_of(NETWORKS, first_launches=True, size="small", start="fork", **keys)
    return {row.run.point.workload: row for row in rows}


def row(name: str, start: str, **keys: object) -> Row:
    """A run of a network, forked beside those of all others or in an interpreter of its own."""
    return forked(**keys)[name] if start == "fork" else row_of(name, size="small", **keys)


def assert_threads_hold(row: Row, intra: int, inter: int) -> None:
    """A run on two cores went well, had pools of so many threads, and stayed on its CPUs."""
    assert row.outcome.status == "ok", row.outcome.reason
    assert row.run.point.cores == 2
    assert row.outcome.cautions == ()
    assert (row.witness.intra_pool, row.witness.inter_pool) == (intra, inter)
    assert set(row.witness.cpus_visited) <= set("0,1-")
