"""Simulated sweeps, from steps to verdicts, with a known truth, to measure the coverage of every interval.

Launches have nested noise: 2 % between launches, 1 % between steps, successive steps with a correlation of 0.3, one
step in a hundred longer by a half, the first ten slower by a fifth. Each launch stops by the engine's own rule and is
evaluated by the engine's own warm-up detection.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean

from benchmarks.shared.machines import machine
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.analysis.turns import Turn, launch_times
from scaling.analysis.warmup import warmup_steps
from scaling.running.worker import Limits, next_check, stop_reason
from scaling.study.planning import Point, plan
from scaling.study.spec import study_from_toml

LAUNCH_NOISE, STEP_NOISE, CORRELATION = 0.02, 0.01, 0.3
OUTLIERS, OUTLIER, WARMUP, WARMUP_STEPS = 0.01, 1.5, 1.2, 10
# The mean of steps over their median.
MEAN = 1 + OUTLIERS * (OUTLIER - 1)
SERIAL, CORES = 0.1, 4
LIMITS = Limits(precision=0.01, max_seconds=1e9)


@dataclass(frozen=True, slots=True)
class Held:
    """For one simulated sweep: which intervals held the truth, and how far off its launches were."""

    step: bool
    speedup: bool
    efficiency: bool
    bias: float


def simulated_sweep(launches: int, chance: random.Random) -> Held:
    """One sweep of one core and several, judged."""
    one, several = _points()
    truth = {one: MEAN, several: MEAN * (SERIAL + (1 - SERIAL) / CORES)}
    made = [
        _launch(point, number, truth[point] / MEAN, chance)
        for point in (one, several)
        for number in range(1, launches + 1 + (point == one))
    ]
    _, figures = speedups(summarize(made))
    assert figures.summary.step
    assert figures.speedup
    assert figures.efficiency
    true, speedup = truth[several], truth[one] / truth[several]
    held = [
        figure.low <= value <= figure.high
        for figure, value in (
            (figures.summary.step, true),
            (figures.speedup, speedup),
            (figures.efficiency, speedup / CORES),
        )
        if figure.low is not None and figure.high is not None
    ]
    bias = fmean(log((summary.seconds or 1) / truth[summary.point]) for summary in made)
    return Held(held[0], held[1], held[2], bias)


def _points() -> tuple[Point, Point]:
    runs = plan(study_from_toml(f'workloads = ["calibrated"]\ncores = [{CORES}]', "coverage"), machine(CORES)).runs
    one, several = sorted({run.point for run in runs}, key=lambda point: point.cores)
    return one, several


def _launch(point: Point, number: int, seconds: float, chance: random.Random) -> Launch:
    """A launch as the engine would end it and see it."""
    source = _steps(seconds * exp(chance.gauss(0, LAUNCH_NOISE)), chance)
    steps = [next(source)]
    while (stop_reason(steps, 0.0, LIMITS)) is None:
        wanted = next_check(len(steps))
        steps += [next(source) for _ in range(wanted - len(steps))]
    settled = tuple(steps[warmup_steps(steps) :])
    return Launch(point, number, launch_times([(Turn(1, len(settled), 0, sum(settled)), settled)], point.cores).seconds)


def _steps(level: float, chance: random.Random) -> Iterator[float]:
    number, noise = 0, chance.gauss(0, STEP_NOISE)
    while True:
        slow = WARMUP if number < WARMUP_STEPS else 1.0
        outlier = OUTLIER if chance.random() < OUTLIERS else 1.0
        yield level * slow * outlier * exp(noise)
        noise = CORRELATION * noise + sqrt(1 - CORRELATION**2) * chance.gauss(0, STEP_NOISE)
        number += 1
