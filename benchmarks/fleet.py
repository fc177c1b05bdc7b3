"""Sweeps on more nodes than are available: a discrete-event simulation with the measured costs of the real driver.

    python -m benchmarks.fleet [--folder DIR] [--seed 1]      the driver's costs on DIR's disk, then the tables
    python -m benchmarks.fleet --of RESULTS                    simulates a real sweep and compares its wall time

A node makes one run at a time. All requests go through one driver, which stores a row, writes two lines of its journal
and sends the next run, each synced before it continues. Nodes fail at random; a lost node is detected after the
threshold, its run is sent again, and another node replaces it after a delay.
"""

import argparse
import heapq
import json
import random
import tempfile
import time
from collections import deque
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp
from pathlib import Path
from statistics import median

from benchmarks.shared import machines
from scaling.machine.topology import Machine
from scaling.results.cluster_folder import Journal, read_journal
from scaling.results.ledger import run_key
from scaling.results.rows import Row, row_from_json, row_to_json, run_from_json, run_to_json
from scaling.results.store import Store, read_rows

TIMED_RUNS = 200
SPREAD = 0.3  # of the logarithm of a run's time: launches of a study differ, and its points more so
HOURS = 3600.0


@dataclass(frozen=True, slots=True)
class Costs:
    """The overhead per run in seconds, measured on a loopback Slurm except for the driver's own."""

    cpu: float = 0.001  # of the driver per run: to decode its reply and encode the next request
    sync: float = 0.002  # one line on the disk
    lines: int = 3  # a row, `result` and `sent`
    interchange: float = 0.0014  # Parsl between driver and nodes, per run; one process, so requests queue
    travel: float = 0.002  # a request to a node and its reply
    pilot: float = 8.0  # from a free node to its first reply
    submit: float = 0.025  # one `sbatch`
    journal_bytes: float = 232.0
    row_bytes: float = 2450.0


TIMED = Costs()


@dataclass(frozen=True, slots=True)
class Fleet:
    """So many nodes, so many runs of about so many seconds, and how nodes fail."""

    nodes: int
    runs: int
    run_seconds: float
    failures_per_hour: float = 1 / 1000.0  # of one node
    threshold: float = 30.0
    queue: float = 300.0  # until a replacement has a node


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a sweep came to."""

    wall: float
    ideal: float
    driver_busy: float
    interchange_busy: float
    lost: int
    made: int

    @property
    def efficiency(self) -> float:
        """How much of the nodes' time was spent on runs that count."""
        return self.ideal / self.wall


class Server:
    """Serves one request after another."""

    def __init__(self) -> None:
        self.free = 0.0
        self.busy = 0.0

    def served(self, now: float, seconds: float) -> float:
        """When a request that comes now is done."""
        self.free = max(now, self.free) + seconds
        self.busy += seconds
        return self.free


def simulate(fleet: Fleet, costs: Costs, seed: int = 1, group: bool = False) -> Outcome:
    """A sweep from the first `sbatch` to the last row.

    With `group` the driver syncs once for all answers that wait for it, instead of once a line.
    """
    chance = random.Random(seed)
    driver, interchange = Server(), Server()
    waiting = deque(range(fleet.runs))
    seconds = [fleet.run_seconds * exp(chance.gauss(-(SPREAD**2) / 2, SPREAD)) for _ in waiting]
    made = lost = 0
    wall = 0.0
    events: list[tuple[float, int, str, int]] = []
    for node in range(min(fleet.nodes, fleet.runs)):
        heapq.heappush(events, ((node + 1) * costs.submit + costs.pilot, node, "free", -1))
    while made < fleet.runs:
        now, node, what, run = heapq.heappop(events)
        if what == "answer":
            made += 1
            wall = max(wall, now)
        elif what == "lost":
            lost += 1
            waiting.appendleft(run)
            heapq.heappush(events, (now + fleet.queue + costs.pilot, node, "free", -1))
            continue
        if not waiting:
            continue
        run = waiting.popleft()
        sync = costs.lines * costs.sync
        if group and driver.free > now:
            sync = 0.0  # whoever is being served syncs for us too
        sent = driver.served(now, costs.cpu + sync)
        start = interchange.served(sent, costs.interchange) + costs.travel
        fails = start + chance.expovariate(fleet.failures_per_hour / HOURS) if fleet.failures_per_hour else float("inf")
        end = start + seconds[run]
        if fails < end:
            heapq.heappush(events, (fails + fleet.threshold, node, "lost", run))
        else:
            heapq.heappush(events, (end, node, "answer", run))
    wall = max(wall, driver.free)
    return Outcome(wall, sum(seconds) / fleet.nodes, driver.busy / wall, interchange.busy / wall, lost, made)


def measured(folder: Path, costs: Costs = TIMED) -> Costs:
    """The costs with the driver's own share timed on a folder's disk, by the code the driver runs."""
    row = _example_row()
    answer = json.dumps({"node": "n1", "job": "1", "refused": None, "row": row_to_json(row)})
    order = run_to_json(row.run)
    store, journal = Store(folder / "timed"), Journal(folder / "journal")
    cpu, syncs = [], []
    try:
        for number in range(TIMED_RUNS):
            start, used = time.perf_counter(), time.process_time()
            row = row_from_json(json.loads(answer)["row"])
            store.append(row)
            journal.write("result", "kind", key=run_key(row.run), attempt=1, node="n1")
            journal.write("sent", "kind", key=run_key(run_from_json(order)), attempt=number + 1)
            used = time.process_time() - used
            cpu.append(used)
            syncs.append(max(0.0, time.perf_counter() - start - used) / costs.lines)
    finally:
        store.close()
        journal.close()
    return replace(costs, cpu=median(cpu), sync=median(syncs))


def _example_row() -> Row:
    host = Machine("n1", "a processor", "x86_64", "6", "f")
    return replace(machines.row(machines.first_run(), step_seconds=(0.1,) * 60), machine=host)


HEADERS = (
    "nodes",
    "seconds per run",
    "wall time",
    "node utilisation",
    "driver busy",
    "interchange busy",
    "lost",
    "journal",
)


def print_tables(costs: Costs, seed: int) -> None:
    """Sweeps of a hundred runs per node, the effect of failures, and the limits of the driver."""
    _print_row(*HEADERS)
    _print_row(*["---:"] * len(HEADERS))
    for run_seconds in (5.0, 20.0, 60.0):
        for nodes in (10, 100, 1000):
            fleet = Fleet(nodes, 100 * nodes, run_seconds)
            _print(fleet, simulate(fleet, costs, seed), costs)
    print()
    _print_row("mean time between failures of a node", *HEADERS[2:4], "lost")
    _print_row(*["---:"] * 4)
    for hours in (1000, 100, 10):
        fleet = Fleet(1000, 100_000, 20.0, failures_per_hour=1 / hours)
        outcome = simulate(fleet, costs, seed)
        _print_row(f"{hours} h", _minutes(outcome), _percent(outcome.efficiency), outcome.lost)
    print()
    _print_row(
        "disk",
        "maximum runs per second",
        "nodes kept busy with runs of 20 s",
        "of 60 s",
        "20 s, with group commit, at most",
    )
    _print_row("---", *["---:"] * 4)
    for name, sync in (("as measured here", costs.sync), ("1 ms per line", 0.001), ("10 ms per line", 0.01)):
        a_run = max(costs.cpu + costs.lines * sync, costs.interchange)
        grouped = max(costs.cpu, costs.interchange)
        _print_row(name, f"{1 / a_run:.0f}", f"{20 / a_run:.0f}", f"{60 / a_run:.0f}", f"{20 / grouped:.0f}")


def _print(fleet: Fleet, outcome: Outcome, costs: Costs) -> None:
    shares = (outcome.efficiency, outcome.driver_busy, outcome.interchange_busy)
    journal = f"{fleet.runs * costs.journal_bytes / 1e6:.1f} MB"
    _print_row(fleet.nodes, f"{fleet.run_seconds:g}", _minutes(outcome), *map(_percent, shares), outcome.lost, journal)


def _print_row(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|")


def _minutes(outcome: Outcome) -> str:
    return f"{outcome.wall / 60:.1f} min"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def print_beside(results: Path, costs: Costs, seed: int) -> None:
    """A sweep that was made, kind by kind, beside what the simulation makes of it."""
    entries = list(read_journal(results))
    _print_row("kind", "runs", "nodes", "plan to last row, real", "simulated")
    _print_row("---", *["---:"] * 4)
    for node_type in sorted({entry.node_type for entry in entries if entry.node_type}):
        of_type = [entry for entry in entries if entry.node_type == node_type]
        rows = list(read_rows(results / node_type))
        walls = [row.outcome.sections.wall or 0.0 for row in rows]
        planned = next(_time(entry.at) for entry in of_type if entry.event == "planned")
        last = max(_time(entry.at) for entry in of_type if entry.event == "result")
        nodes = len({row.machine.host for row in rows})
        fleet = Fleet(nodes, len(rows), sum(walls) / len(walls), failures_per_hour=0.0)
        simulated = simulate(fleet, replace(costs, pilot=0.0, submit=0.0), seed).wall
        _print_row(node_type, len(rows), nodes, f"{last - planned:.1f} s", f"{simulated:.1f} s")


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def main() -> None:
    """Print the costs and the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where the driver's disk is timed; a temporary folder if left out")
    parser.add_argument("--of", type=Path, metavar="RESULTS", help="a cluster's results folder to hold it against")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        costs = measured(Path(folder))
    print(f"driver per run: {1000 * costs.cpu:.2f} ms of CPU, {costs.lines} lines of {1000 * costs.sync:.2f} ms each\n")
    if arguments.of:
        print_beside(arguments.of, costs, arguments.seed)
    else:
        print_tables(costs, arguments.seed)


if __name__ == "__main__":
    main()
