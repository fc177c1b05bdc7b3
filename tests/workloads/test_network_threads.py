"""Every network of ours has the threads it is given, and with one of each sort uses one CPU of the two it may use."""

import pytest

from scaling.machine.sysfs import read_topology
from tests.conftest import need
from tests.workloads import network_rows
from tests.workloads.network_rows import STARTED


@pytest.mark.parametrize(("name", "start"), STARTED)
def test_one_thread_holds_and_uses_one_cpu(name, start):
    need(len(read_topology().cores) >= 2, "two cores")
    row = network_rows.row(name, start, cores=2, intra=1, inter=1, max_seconds=1)
    network_rows.assert_threads_hold(row, intra=1, inter=1)
    assert row.witness.cpu_seconds / row.outcome.sections.run <= 1.05
