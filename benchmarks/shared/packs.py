"""Replicas on a pretend machine: how each scales is known, and how much they disturb each other."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import exp
from typing import Any

from benchmarks.shared.machines import machine, row, study
from scaling.analysis.curves.laws import relative_time
from scaling.analysis.packs import ReplicaRun, merge
from scaling.analysis.turns import Turn, TurnSpan
from scaling.machine.placement import sharing
from scaling.machine.topology import Topology, format_list
from scaling.results.rows import Row, Sections
from scaling.study.planning import Cohort, Point, Run, plan
from scaling.study.spec import Study

STEPS = 20


def pack_study(toml: str = "", cores: int = 8, **keys: str) -> Study:
    """Every division of so many cores by powers of two."""
    counts = [count for count in range(1, cores + 1) if cores % count == 0]
    return study(f"cores = {counts}\nreplicas = 'fill'\ndesign = 'turns'\n{toml}", **keys)


# How many times as long a step takes in so many replicas, each of which does so much of what one core does alone.
SlowdownLaw = Callable[[int, float], float]


def model(interference: float) -> SlowdownLaw:
    """Every other replica adds as much, whatever its cores."""
    return lambda replicas, _: 1 + interference * (replicas - 1)


def bandwidth(cores: float) -> SlowdownLaw:
    """They share what so many cores alone take of memory, and wait for it beyond that; a lone one has enough."""
    return lambda replicas, each: max(1.0, replicas * each / max(cores, each))


def quadratic(interference: float) -> SlowdownLaw:
    """Every pair of them adds as much."""
    return lambda replicas, _: 1 + interference * (replicas - 1) * replicas / 2


@dataclass(frozen=True, slots=True)
class PackedMachine:
    """Runs nothing: a replica takes as long as Amdahl's law says, times what its `slowdown` beside others is, which
    for another workload is twice as much.

    Rounds are slow or fast for all processes of a cohort alike (`drift`), and every turn by itself (`noise`), launches
    as well (`launch_noise`).
    """

    serial: float = 0.1
    slowdown: SlowdownLaw = field(default_factory=lambda: model(0.03))
    noise: float = 0.01
    drift: float = 0.1
    launch_noise: float = 0.0
    rounds: int = 6
    one_core_seconds: float = 0.1
    seed: int = 0
    topology: Topology = field(default_factory=lambda: machine(8))

    def rows(self, question: Study) -> list[Row]:
        """The rows of all runs of a study."""
        return list(self.execute(plan(question, self.topology).runs))

    def execute(self, runs: Iterable[Run]) -> Iterator[Row]:
        """The row of every run, as the one cohort of its launch and series."""
        for run in runs:
            yield self._row(run)

    def _row(self, run: Run) -> Row:
        weather = random.Random(f"{self.seed} {run.point.workload} {run.point.smt} {run.launch}")
        rounds = [weather.gauss(0, self.drift) for _ in range(self.rounds)]
        settings = f"{run.point.workload} {run.point.beside} {run.point.replicas} {run.point.cores} {run.point.smt}"
        chance = random.Random(f"{self.seed} {settings} {run.launch}")
        level = chance.gauss(0, self.launch_noise)
        rounds = [level + one for one in rounds]
        own = [self._replica(run, one, rounds, chance) for one in run.replica_runs]
        if run.point.replicas == 1:
            facts: dict[str, Any] = {"step_seconds": tuple(own[0].step_seconds), "turns": tuple(own[0].turns)}
        else:
            merged = merge(own, run.point.measured_replicas)
            facts = {"step_seconds": merged.step_seconds, "turns": merged.turns, "pack": merged.pack}
        seconds = sum(turn.seconds for turn in own[0].turns)
        in_cohort = replace(run, cohort=Cohort(f"launch {run.launch}", 2))
        return row(in_cohort, **facts, ended_by="rounds", sections=Sections(run=seconds, wall=seconds))

    def _replica(self, run: Run, replica: Run, rounds: list[float], chance: random.Random) -> ReplicaRun:
        groups = [one.cpus for one in run.replica_runs]
        cpus = format_list(replica.flat_cpus)
        steps: list[float] = []
        turns, spans = [], []
        for number, weather in enumerate(rounds, 1):
            seconds = self._seconds(run.point) * exp(weather + chance.gauss(0, self.noise))
            steps += [seconds] * STEPS
            turns.append(Turn(number, STEPS, 0, STEPS * seconds, steal_seconds=0.0))
            begin = 1000.0 * number
            spans.append(TurnSpan(begin, begin, begin + STEPS * seconds))
        shares = sharing(self.topology, groups)[groups.index(replica.cpus)]
        return ReplicaRun(cpus, cpus, cpus, shares, 1, steps, turns, spans)

    def _seconds(self, point: Point) -> float:
        beside = self.slowdown_of(point.replicas, point.cores) - 1
        return self.alone(point.cores) * (1 + beside * (2 if point.beside else 1))

    def alone(self, cores: int) -> float:
        """The seconds of a step on so many cores alone."""
        return self.one_core_seconds * float(relative_time(cores, self.serial))

    def slowdown_of(self, replicas: int, cores: int) -> float:
        """How many times as long a step of each of so many replicas takes."""
        return self.slowdown(replicas, self.one_core_seconds / self.alone(cores))
