"""`scaling pack` on two cores: rows, the recommendation, resuming, and what is refused."""

import json
import re
from collections import Counter

import msgspec
import pytest

from scaling.machine.sysfs import read_topology
from scaling.reporting.schemas import outputs
from scaling.results.store import read_rows
from tests.conftest import need
from tests.scaling.cli.here import scaling

# Long beside what it takes a busy machine to start a shell.
PROGRAM = ("--", "sh", "-c", "sleep 0.2")
FEW = ("--cores", "2", "--launches", "3", "--no-report")


@pytest.fixture
def folder(tmp_path):
    need(len(read_topology().cores) > 1, "two cores")
    return tmp_path / "packs"


def divisions(folder) -> Counter:
    return Counter((row.run.point.replicas, row.run.point.cores) for row in read_rows(folder))


def test_every_division_is_measured_and_the_best_is_named_and_lost_rows_are_made_again(folder):
    done = scaling("pack", *FEW, "-o", folder, "--json", *PROGRAM)
    assert divisions(folder) == {(1, 1): 3, (1, 2): 3, (2, 1): 3}
    facts = json.loads(done.stdout)
    msgspec.convert(facts, outputs()["pack"])
    (packs,) = facts["packs"]
    assert packs["divided_cores"] == 2
    pack = packs["divisions"][-1]
    assert pack["disjoint"]
    # Whatever else runs here meanwhile may disturb all of them.
    assert done.returncode == (0 if packs["is_answer"] else 1), done.stderr
    if packs["is_answer"]:
        assert packs["best"]["replicas"] == 2
        assert 0.5 < pack["kept_of_a_lone_replica"]["value"] < 2

    # What was lost of a cohort is measured again, beside one core.
    rows = folder / "rows.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(line for line in lines if json.loads(line)["run"]["replicas"] == 1))
    again = scaling("pack", *FEW, "-o", folder, "--latency", "0.001", *PROGRAM)
    assert again.returncode == 1
    assert re.search("no division of 2 cores .* keeps the median step within 1 ms|no answer yet", again.stdout)
    assert divisions(folder)[2, 1] == 3

    table = scaling("show", folder).stdout
    assert table.splitlines()[2].split()[:2] == ["workload", "replicas"]
    exported = scaling("export", folder, "--format", "csv", "-o", folder / "rows.csv")
    assert exported.returncode == 0
    assert scaling("show", folder / "rows.csv").stdout == table
