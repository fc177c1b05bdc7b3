"""Simulated busy hosts: a sweep with known step times on a host whose other tenants come and go.

    simulate(HOSTS["both"], Curve(serial=0.1), Turns(), chance).launches

A host has CPUs whose state is known every hundredth of a second. Its noise is one-sided, as on real hosts:

- steal: episodes, common to all CPUs, in which the hypervisor now and then takes a CPU for part of a tick. It is
  reported, as a sum over the CPUs in use, and delays a step by as much as the CPU that lost most.
- neighbours: other tenants' threads on the same cores. A CPU runs at one of two speeds, each for a tenth of a second to
  many seconds, some of them by itself and some together with all others. Nothing reports it, and a step is as slow as
  its slowest CPU.
- drift: everything is a few percent slower or faster over minutes.
- clock: all CPUs together wander by a few percent over some ten seconds, as clocks do that many tenants share.
- stalls: seconds in which everything takes longer, and single steps that do.
- wander: a process by itself is now a little slower, now a little faster, for a second or so.

A process has its own speed besides (memory layout), which lasts as long as it does: the launch effect. With the design
`Turns` the processes of a launch take turns in random rounds; with `Apart` each has the machine from its first step to
its last, one after another in random blocks. Equal `seconds_per_launch` mean equal wall time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.summary import Launch
from scaling.analysis.turns import Turn, counted_steps, launch_times
from scaling.study.planning import Point

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

TICK = 0.01
DWELL_SECONDS = (0.1, 20.0)
EPISODE_SECONDS = (0.5, 20.0)
CLOCK_SECONDS = 10.0
STEP_NOISE, STEP_CORRELATION = 0.01, 0.3
COUNTS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Host:
    """What other tenants do: shares of the time, and how much slower it makes a step.

    `own_neighbours` is the share of the time in which a single CPU has a neighbour of its own, `common_neighbours` that
    in which all have. `steal` is the share of the time with episodes of steal, in which `steal_chance` of the ticks of
    a CPU lose 20 to 100 %.
    """

    own_neighbours: float = 0.0
    common_neighbours: float = 0.0
    neighbour_factors: tuple[float, float] = (1.3, 1.5)
    steal: float = 0.0
    steal_chance: float = 0.07
    drift: float = 0.0
    clock: float = 0.0
    stalls: float = 0.0
    step_outliers: float = 0.005
    wander: float = 0.0
    launch_effect: float = 0.02
    cpus: int = 16


HOSTS = {
    "quiet": Host(),
    "steal": Host(steal=0.5),
    "neighbours": Host(own_neighbours=0.03, common_neighbours=0.3),
    "both": Host(own_neighbours=0.03, common_neighbours=0.3, steal=0.4),
    "heavy": Host(own_neighbours=0.03, common_neighbours=0.6, steal=0.6),
    "drift": Host(drift=0.05),
    "clock": Host(clock=0.04),
    "outliers": Host(stalls=0.05, step_outliers=0.03),
    "launches": Host(launch_effect=0.04),
    "rough": Host(own_neighbours=0.03, common_neighbours=0.3, wander=0.04, launch_effect=0.03),
}


@dataclass(frozen=True, slots=True)
class Curve:
    """True step times: (s + (1 - s) / n + k (n - 1)) of one core, each count but one off by about `off` at random."""

    serial: float = 0.1
    coherency: float = 0.0
    off: float = 0.0
    one_core_seconds: float = 0.05
    counts: tuple[int, ...] = COUNTS

    def seconds(self, chance: np.random.Generator) -> dict[int, float]:
        """The true step time at every count."""
        s, k = self.serial, self.coherency
        law = {n: self.one_core_seconds * (s + (1 - s) / n + k * (n - 1)) for n in self.counts}
        return {n: time * (float(np.exp(chance.normal(0.0, self.off))) if n > 1 else 1.0) for n, time in law.items()}


@dataclass(frozen=True, slots=True)
class Turns:
    """Launches of all counts together: rounds in random order, a turn each, the first seconds of a turn not counted."""

    launches: int = 5
    rounds: int = 12
    turn_seconds: float = 1.5
    unsettled_seconds: float = 0.3
    start_up_seconds: float = 2.0

    @property
    def seconds_per_launch(self) -> float:
        """Seconds of steps of one process."""
        return self.rounds * self.turn_seconds


@dataclass(frozen=True, slots=True)
class Apart:
    """Launches one after another: every process takes all its steps at once, points in random order in a block."""

    launches: int = 5
    seconds_per_launch: float = 18.0
    unsettled_seconds: float = 0.3
    start_up_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """Simulated launches as the analysis takes them, and the truth behind them."""

    launches: tuple[Launch, ...]
    true_seconds: dict[int, float]
    wall_seconds: float

    def true_speedup(self, cores: int) -> float:
        """Undisturbed speedup."""
        return self.true_seconds[1] / self.true_seconds[cores]


@dataclass(slots=True)
class _History:
    """The state of a host from the start of a sweep to its end, tick by tick, and what time it is."""

    host: Host
    neighbours: Booleans
    neighbour_factor: float
    stealing: Booleans
    common: Floats
    chance: np.random.Generator
    now: int = 0

    def slowdown(self, ticks: int, cpus: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """How much slower steps on these CPUs are in every tick from now on, and the CPU time stolen in it."""
        span = slice(self.now, self.now + ticks)
        self.now += ticks
        slowest = np.where(self.neighbours[span][:, cpus].any(axis=1), self.neighbour_factor, 1.0)
        shape = (ticks, len(cpus))
        hit = (self.chance.random(shape) < self.host.steal_chance) & self.stealing[span, None]
        lost = np.where(hit, self.chance.uniform(0.2, 1.0, shape), 0.0)
        return self.common[span] * slowest / np.maximum(1.0 - lost.max(axis=1), 1e-3), lost.sum(axis=1) * TICK


def simulate(host: Host, curve: Curve, design: Turns | Apart, chance: np.random.Generator) -> Sweep:
    """One sweep of a curve on a host."""
    seconds = curve.seconds(chance)
    per_process = design.seconds_per_launch + design.start_up_seconds
    wall = design.launches * len(curve.counts) * per_process
    history = _history(host, round(wall / TICK) + 1000, chance)
    made = _cohorts(design, seconds, history) if isinstance(design, Turns) else _processes(design, seconds, history)
    return Sweep(tuple(made), seconds, wall)


def point(cores: int) -> Point:
    """The simulated workload on so many cores."""
    return Point(
        workload="simulated",
        mode="train",
        size="small",
        items="default",
        scale="strong",
        framework="",
        device="cpu",
        jit=False,
        cores=cores,
        smt=1,
        placement="compact",
        memory="local",
        intra="auto",
        inter="auto",
    )


def _cohorts(design: Turns, seconds: dict[int, float], history: _History) -> Iterator[Launch]:
    """Launch by launch: all processes start, then take turns in rounds of random order."""
    for number in range(1, design.launches + 1):
        processes = {n: _Process(n, time, history) for n, time in seconds.items()}
        history.now += round(len(processes) * design.start_up_seconds / TICK)
        for index in range(1, design.rounds + 1):
            for n in history.chance.permutation(list(processes)):
                processes[n].take_turn(index, design.turn_seconds, design.unsettled_seconds)
        yield from (process.launch(number, f"cohort {number}") for process in processes.values())


def _processes(design: Apart, seconds: dict[int, float], history: _History) -> Iterator[Launch]:
    """Block by block, in random order: a process starts and takes all its steps."""
    for number in range(1, design.launches + 1):
        for n in history.chance.permutation(list(seconds)):
            process = _Process(int(n), seconds[int(n)], history)
            history.now += round(design.start_up_seconds / TICK)
            process.take_turn(1, design.seconds_per_launch, design.unsettled_seconds)
            yield process.launch(number, None)


class _Process:
    """A process with its own speed, on CPUs chosen for it."""

    def __init__(self, cores: int, true_seconds: float, history: _History) -> None:
        effect = history.chance.normal(0.0, history.host.launch_effect)
        self.cores = cores
        self.seconds = true_seconds * float(np.exp(effect))
        self.cpus = history.chance.permutation(history.host.cpus)[:cores]
        self.history = history
        self.step_seconds: list[float] = []
        self.turns: list[Turn] = []

    def take_turn(self, index: int, seconds: float, unsettled_seconds: float) -> None:
        """Take steps for so many seconds; a step ends when the work done since it began is a step's."""
        slower, stolen = self.history.slowdown(round(seconds / TICK), self.cpus)
        slower *= self._wander(len(slower))
        work = np.concatenate([[0.0], np.cumsum(TICK / slower / self.seconds)])
        ends = np.interp(np.arange(int(work[-1]) + 1), work, np.arange(len(work)) * TICK)
        steps = np.maximum(np.diff(ends) * self._step_noise(len(ends) - 1), 1e-6)
        unsettled = int(np.searchsorted(ends[:-1], unsettled_seconds))
        counted = round(unsettled_seconds / TICK)
        self.step_seconds += steps.tolist()
        self.turns.append(
            Turn(
                index,
                len(steps),
                unsettled,
                seconds=float(steps[unsettled:].sum()),
                steal_seconds=float(stolen[counted:].sum()),
            )
        )

    def launch(self, number: int, cohort: str | None) -> Launch:
        """The process as the analysis sees it."""
        times = launch_times(counted_steps(self.step_seconds, self.turns), self.cores)
        return Launch(point(self.cores), number, times.seconds, items=1, turns=times.turns, cohort=cohort)

    def _wander(self, ticks: int) -> Floats:
        """Speeds that last about a second each, normal on the logarithm."""
        seconds = int(ticks * TICK) + 2
        levels = self.history.chance.normal(0.0, self.history.host.wander, seconds)
        starts = np.arange(ticks) * TICK + self.history.chance.random()
        return np.asarray(np.exp(levels[starts.astype(int)]))

    def _step_noise(self, count: int) -> Floats:
        chance = self.history.chance
        own = chance.normal(0.0, STEP_NOISE, count + 1)
        scatter = np.sqrt(1.0 - STEP_CORRELATION**2) * own[1:] + STEP_CORRELATION * own[:-1]
        outlier = chance.random(count) < self.history.host.step_outliers
        return np.asarray(np.exp(scatter) * np.where(outlier, chance.uniform(1.5, 3.0, count), 1.0))


def _history(host: Host, ticks: int, chance: np.random.Generator) -> _History:
    common_neighbour = _episodes(host.common_neighbours, DWELL_SECONDS, ticks, chance)
    own = [_episodes(host.own_neighbours, DWELL_SECONDS, ticks, chance) for _ in range(host.cpus)]
    time = np.arange(ticks) * TICK
    period = chance.uniform(240.0, 600.0)
    drift = host.drift * np.sin(2 * np.pi * (time / period + chance.random()))
    stalled = _episodes(host.stalls, (0.5, 2.0), ticks, chance)
    return _History(
        host=host,
        neighbours=np.stack(own, axis=1) | common_neighbour[:, None],
        neighbour_factor=float(chance.uniform(*host.neighbour_factors)),
        stealing=_episodes(host.steal, EPISODE_SECONDS, ticks, chance),
        common=np.exp(drift + _clock(host, ticks, chance)) * np.where(stalled, 2.0, 1.0),
        chance=chance,
    )


def _clock(host: Host, ticks: int, chance: np.random.Generator) -> Floats:
    """Logarithms of a common speed: a first-order autoregression with a correlation time of ten seconds."""
    if not host.clock:
        return np.zeros(ticks)
    seconds = int(ticks * TICK) + 2
    keep = np.exp(-1.0 / CLOCK_SECONDS)
    own = chance.normal(0.0, host.clock, seconds)
    levels = np.empty(seconds)
    levels[0] = own[0]
    for second in range(1, seconds):
        levels[second] = keep * levels[second - 1] + np.sqrt(1.0 - keep**2) * own[second]
    return np.asarray(np.interp(np.arange(ticks) * TICK, np.arange(seconds), levels))


def _episodes(share: float, dwell: tuple[float, float], ticks: int, chance: np.random.Generator) -> Booleans:
    """Ticks that fall into episodes which take up a share of the time; an episode's length is log-uniform."""
    if share == 0.0:
        return np.zeros(ticks, bool)
    low, high = np.log(dwell)
    mean = (np.exp(high) - np.exp(low)) / (high - low) / TICK
    pairs = int(2 * ticks * share / mean) + 6
    busy = np.exp(chance.uniform(low, high, pairs)) / TICK
    idle = np.exp(chance.uniform(low, high, pairs)) / TICK * (1 - share) / share
    lengths = np.maximum(np.rint(np.stack([busy, idle], axis=1).ravel()), 1).astype(int)
    states = np.repeat(np.tile([True, False], pairs), lengths)
    start = int(chance.integers(max(1, len(states) - ticks)))
    return np.resize(states[start:], ticks)
