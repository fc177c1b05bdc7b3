"""Machines, rows and engines that need no machine and no clock."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import exp
from typing import Any

from scaling.analysis.curves.laws import relative_time
from scaling.analysis.serial_fraction import Scale
from scaling.analysis.witness import Witness
from scaling.machine.topology import CpuMasks, Machine, Topology, format_list, topology
from scaling.results.rows import Outcome, Row, Sections
from scaling.study.axes import CONTROLS, LOADS
from scaling.study.planning import Point, Run, plan
from scaling.study.spec import Study, study_from_toml

HOST = Machine(host="pretend", cpu_model="Amdahl 470", arch="x86_64", kernel="6.0", fingerprint="0123456789abcdef")


def machine(cores: int = 8, smt: int = 1, quota_cpus: float | None = None) -> Topology:
    """One socket of so many cores; siblings are numbered core by core."""
    online = frozenset(range(cores * smt))

    def core(cpu: int) -> frozenset[int]:
        first = cpu - cpu % smt
        return frozenset(range(first, first + smt))

    masks = [CpuMasks(cpu, core=core(cpu), socket=online, l3=online) for cpu in online]
    return topology(masks, {0: online}, online=online, present=online, possible=online, quota_cpus=quota_cpus)


def study(toml: str = "", **keys: str) -> Study:
    """A study of the calibrated workload whose processes run apart, as those of a pretend machine do; further TOML."""
    usual = {"workloads": '["calibrated"]', "design": '"apart"'}
    lines = [f"{key} = {value}\n" for key, value in usual.items() if key not in toml]
    return study_from_toml("".join(lines) + toml, "test.toml", [f"{key}={value}" for key, value in keys.items()])


def first_run(toml: str = "", cores: int = 8) -> Run:
    return plan(study(toml), machine(cores)).runs[0]


def row(run: Run | None = None, step_seconds: tuple[float, ...] = (0.1, 0.1, 0.1), **outcome: Any) -> Row:
    """A row that went well."""
    run = run or first_run()
    cpus = format_list(run.flat_cpus)
    made = Outcome("ok", step_seconds=step_seconds, items_per_step=1, ended_by="precision", sections=Sections(wall=1.0))
    return Row(
        run=run,
        outcome=replace(made, **outcome),
        witness=Witness(cpus_at_start=cpus, cpus_at_end=cpus, threads=3, cpu_seconds=0.3),
        machine=HOST,
        versions=(("scaling", "0"), ("python", "3.11")),
        started_at=f"2026-01-01T{(run.launch - 1) % 24:02}:00:00.000+00:00",
        environment=(("PATH", "/usr/bin"),),
    )


def launch_chance(run: Run, seed: object = "") -> random.Random:
    """The chance of a launch: the same for the same launch, whatever settings points have learnt to have since."""
    return random.Random(f"{seed}{old_settings(run)} {run.seed}".replace(", quota=None", ""))


def old_settings(run: Run) -> str:
    """The key of a run without the settings that points have learnt to have, as long as they are the usual ones."""
    usual = (
        ", data='fixed', pipeline_threads=None",
        ", replicas=1, beside=None",
        *(f", {cap}=None" for cap in (*CONTROLS, *LOADS, "onednn")),
    )
    key = str(run.key)
    for settings in usual:
        key = key.replace(settings, "")
    return key


class AmdahlMachine:
    """Runs nothing: every step takes as long as Amdahl's law says, launches a little more or less than that.

    With weak scaling a step has an item per core and takes as long as Gustafson's law says.
    """

    def __init__(self, serial: float = 0.1, one_core_seconds: float = 1.0, noise: float = 0.001) -> None:
        self.serial = serial
        self.one_core_seconds = one_core_seconds
        self.noise = noise

    def execute(self, runs: Iterable[Run]) -> Iterator[Row]:
        for run in runs:
            items = run.point.cores if run.point.scale == "weak" else 1
            chance = launch_chance(run).gauss(0, self.noise)
            seconds = self.one_core_seconds * items * self._relative_time(run.point) * exp(chance)
            yield row(run, step_seconds=(seconds,) * 20, items_per_step=items)

    def _relative_time(self, point: Point) -> float:
        scale: Scale = "weak" if point.scale == "weak" else "strong"
        return float(relative_time(point.cores, self.serial, scale=scale))


@dataclass(frozen=True, slots=True)
class Network:
    """How a network scales: the universal scalability law, with as many items per step whatever its cores."""

    serial: float
    coherency: float = 0.0
    one_core_seconds: float = 0.4
    items: int = 32

    def seconds(self, cores: float) -> float:
        """The time of a step on so many cores, of which those with several threads count by their yield."""
        return self.one_core_seconds * ((1 - self.serial) / cores + self.serial + self.coherency * (cores - 1))


NETWORKS = {
    "alexnet": Network(0.02),
    "autoenc": Network(0.15, 0.002),
    "deepq": Network(0.08, 0.001),
    "memnet": Network(0.4),
    "residual": Network(0.01, 0.0002),
    "seq2seq": Network(0.25, 0.004),
    "speech": Network(0.005),
    "vgg": Network(0.03, 0.0005),
}
# What a core does with so many threads over what it does with one.
SMT_YIELDS = {1: 1.0, 2: 1.25, 4: 1.35, 8: 1.3}


class SmtMachine:
    """Runs nothing: every network scales as it does, cores count by the yield of their threads, launches vary by 2 %.

    With `interference`, every further thread of every core slows all of them down by so much: no yield describes that.
    """

    def __init__(self, seed: int = 1, noise: float = 0.02, interference: float = 0.0) -> None:
        self.seed = seed
        self.noise = noise
        self.interference = interference

    def execute(self, runs: Iterable[Run]) -> Iterator[Row]:
        for run in runs:
            chance = launch_chance(run, f"{self.seed} ").gauss(0, self.noise)
            seconds = self.seconds(run.point.workload, run.point.cores, run.point.smt) * exp(chance)
            yield row(run, step_seconds=(seconds,) * 20, items_per_step=NETWORKS[run.point.workload].items)

    def seconds(self, name: str, cores: int, threads: int) -> float:
        """The time of a step without noise."""
        network = NETWORKS[name]
        slower = 1.0 + self.interference * (threads - 1) * cores
        return network.seconds(cores * SMT_YIELDS[threads]) * slower


def smt_study(cores: str = "[1, 2, 4, 8, 12, 16, 20]", networks: Iterable[str] = NETWORKS) -> Study:
    """A study of the networks on one to eight threads of every core."""
    names = ", ".join(f'"{name}"' for name in networks)
    return study(f"name = 'threads'\nworkloads = [{names}]\ncores = {cores}\nsmt = [1, 2, 4, 8]\nlaunches = 5\n")
