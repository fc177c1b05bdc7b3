"""`scaling machine topology` as a user runs it, on an invented machine and on this one."""

import json

from tests.scaling.cli.scaling import BARE
from tests.scaling.cli.scaling import scaling as program


def test_topology_prints_its_facts_as_json(power9):
    answer = program("machine", "topology", "--json", "--root", power9, env=BARE)
    facts = json.loads(answer.stdout)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert (facts["online"], facts["possible"], facts["sockets"], facts["cores"]) == ("0-15,88-103", "0-175", 2, 8)
    assert facts["numa_nodes"] == {"0": "0-15", "8": "88-103", **{str(node): "" for node in range(250, 256)}}
    assert facts["quota_cpus"] == 2.5


def test_topology_of_this_machine_needs_no_root():
    assert json.loads(program("machine", "topology", "--json", env=BARE).stdout)["n_online"] >= 1
