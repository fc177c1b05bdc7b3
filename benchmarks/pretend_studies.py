"""The ready-made studies smt, placement, threads, weak and infer on a pretend machine, for the pictures in docs.

    python -m benchmarks.pretend_studies DIR
    scaling plot DIR/smt smt

The machine has two sockets of eight cores with two hardware threads each. Nobody has measured it: the model below
invents the steps of four networks, with 2 % noise between launches. It shows how the figures of these studies look on
a machine with SMT and two sockets, and nothing about real networks.
"""

import argparse
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path

from benchmarks.shared.machines import HOST, old_settings, row
from scaling.analysis.serial_fraction import scaled_speedup
from scaling.machine.topology import CpuMasks, Topology, topology
from scaling.results.rows import Row, row_to_json
from scaling.results.store import ROWS, Store
from scaling.study.catalogue import read_study_text
from scaling.study.planning import Point, Run, plan
from scaling.study.spec import Study, study_from_toml, study_to_toml

STUDIES = ("smt", "placement", "threads", "weak", "infer")
SOCKETS, CORES_PER_SOCKET, THREADS_PER_CORE = 2, 8, 2
NOISE, STEPS = 0.02, 20
# What threads of several sockets lose to each other for every core, and threads beyond the CPUs for each of them.
APART, OVERSUBSCRIBED = 0.001, 0.03
# Every figure and page names the machine, so that a picture says itself that nobody has measured it.
MACHINE = replace(HOST, host="PRETEND MACHINE, not measured", cpu_model="Pretend 2 × 8, SMT 2")


@dataclass(frozen=True, slots=True)
class Network:
    """What decides how a made-up network scales.

    `serial` is of its step, `memory` the share of the rest that waits for memory, which a socket serves as fast as
    `channels` cores ask; `smt_yield` is what a second thread brings, `at_once` how many operations can run at once, and
    `batch` how much longer a step of the usual batch is than one of a single item.
    """

    seconds: float
    serial: float
    memory: float
    channels: float
    smt_yield: float
    at_once: int
    batch: float


NETWORKS = {
    "alexnet": Network(0.3, 0.03, 0.2, 5.0, 0.28, 1, 12.0),
    "residual": Network(0.6, 0.06, 0.1, 6.0, 0.22, 2, 10.0),
    "memnet": Network(0.01, 0.4, 0.3, 4.0, 0.05, 2, 1.5),
    "seq2seq": Network(0.2, 0.12, 0.5, 3.0, -0.04, 4, 3.0),
}


def pretend_machine() -> Topology:
    """Two sockets, each with a last-level cache and a NUMA node of its own; siblings are numbered core by core."""
    per_socket = CORES_PER_SOCKET * THREADS_PER_CORE
    online = frozenset(range(SOCKETS * per_socket))
    sockets = [frozenset(range(first, first + per_socket)) for first in range(0, len(online), per_socket)]
    masks = []
    for cpu in sorted(online):
        first, socket = cpu - cpu % THREADS_PER_CORE, sockets[cpu // per_socket]
        masks.append(CpuMasks(cpu, core=frozenset(range(first, first + THREADS_PER_CORE)), socket=socket, l3=socket))
    nodes = dict(enumerate(sockets))
    return topology(masks, nodes, online=online, present=online, possible=online, cpu_model=MACHINE.cpu_model)


def step_seconds(network: Network, run: Run) -> float:
    """A step of a network on the CPUs of a run, without noise."""
    point, cpus = run.point, run.flat_cpus
    sockets = len({cpu // (CORES_PER_SOCKET * THREADS_PER_CORE) for cpu in cpus})
    workers, waste = _workers(network, point, len(cpus))
    cores = workers / point.smt * (1.0 + network.smt_yield * (point.smt - 1))
    serial = _serial(network, point)
    if point.scale == "weak":
        return network.seconds * point.cores / float(scaled_speedup(cores, serial))
    # Memory serves one core more after another less and less, as a queue does.
    memory = (1.0 / cores + 1.0 / (network.channels * sockets)) / (1.0 + 1.0 / network.channels)
    shared = (1.0 - network.memory) / cores + network.memory * memory
    crossing = APART * point.cores * (sockets - 1)
    return network.seconds * _batch(network, point) * (serial + (1.0 - serial) * shared + crossing) * waste


def _workers(network: Network, point: Point, cpus: int) -> tuple[float, float]:
    """How many CPUs the threads of a run keep busy, and how much longer everything takes where there are too many."""
    intra, inter = (point.threads(setting) or cpus for setting in (point.intra, point.inter))
    if point.intra == point.inter == "auto":
        return float(cpus), 1.0
    wanted = intra * min(inter, network.at_once)
    return float(min(cpus, wanted)), 1.0 + OVERSUBSCRIBED * max(0, wanted - cpus) / cpus


def _batch(network: Network, point: Point) -> float:
    """What an inference takes of a training step, item by item or in batches."""
    if point.mode != "infer":
        return 1.0
    return (1.0 if point.items == "default" else 1.0 / network.batch) / 3.0


def _serial(network: Network, point: Point) -> float:
    """A single item leaves less to share out."""
    single = point.mode == "infer" and point.items != "default"
    return network.serial + (1.0 - network.serial) * (0.25 if single else 0.0)


def rows(study: Study, runs: Iterable[Run]) -> Iterator[Row]:
    """Every run of a study as a row of its own."""
    for run in runs:
        chance = random.Random(f"{study.name} {old_settings(run)}")
        seconds = step_seconds(NETWORKS[run.point.workload], run) * exp(chance.gauss(0.0, NOISE))
        steps = tuple(seconds * exp(chance.gauss(0.0, NOISE / 4)) for _ in range(STEPS))
        items = 32 * (run.point.cores if run.point.scale == "weak" else 1)
        items_per_step = items if run.point.items == "default" else 1
        yield replace(row(run, step_seconds=steps, items_per_step=items_per_step), machine=MACHINE)


def pretend_study(name: str) -> Study:
    """A ready-made study of the four networks, whose processes run apart, as those of a pretend machine do."""
    study = study_from_toml(read_study_text(name), name)
    return replace(study, workloads=tuple(NETWORKS), design="apart")


def write_study(name: str, folder: Path) -> int:
    """Write the results folder of a study; how many runs it has."""
    study, machine = pretend_study(name), pretend_machine()
    store = Store(folder)
    store.write_study(study_to_toml(study, f"{name}, on a pretend machine"))
    store.write_machine(MACHINE, machine)
    store.close()
    lines = [f"{row_to_json(made)}\n" for made in rows(study, plan(study, machine).runs)]
    (folder / ROWS.file).write_text("".join(lines))
    return len(lines)


def main() -> None:
    """Write a results folder for every study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the results folders are written")
    folder = parser.parse_args().folder
    print("| study | runs | folder |\n| --- | ---: | --- |")
    for name in STUDIES:
        print(f"| {name} | {write_study(name, folder / name)} | {folder / name} |")


if __name__ == "__main__":
    main()
