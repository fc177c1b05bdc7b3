"""Throughputs that `scaling capacity` promises for replicas that disturb each other in known ways.

    python -m benchmarks.replicas [--trials 200] [--seed 1] [--assurance 0.95]

A simulated machine of eight cores is measured in all divisions, five launches of each, which differ by 2 %, as turns
do. Of every division of `DIVISIONS`, measured or not, the throughput is taken that replicas reach with the assurance,
and new launches of them are drawn. Three machines:

- model: every other replica adds 6 % to a step, whatever its cores
- bandwidth: they share what three cores alone take of memory, and wait for it beyond that
- quadratic: every pair of replicas adds 3 %

By the rule of `capacity` a measured division answers for itself. Beside it is one coefficient s for all of them, by
which a step takes 1 + s (r - 1) times as long: least squares over all divisions, the upper end of its interval.
"""

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, fsum, hypot
from statistics import fmean

import numpy as np

from benchmarks.shared.packs import PackedMachine, SlowdownLaw, bandwidth, model, pack_study, quadratic
from scaling.analysis.curves.fit import fit
from scaling.analysis.interference import CrowdedDivision, Crowding, PackedSeries, packed_series
from scaling.analysis.series import Series, selected_series
from scaling.analysis.sizing.levels import Size, level_curves
from scaling.analysis.summary import select_points, summarize
from scaling.results.rows import launch_of

MACHINES: dict[str, SlowdownLaw] = {"model": model(0.06), "bandwidth": bandwidth(3.0), "quadratic": quadratic(0.03)}
NOISE = 0.02
CORES, LAUNCHES = 8, 5
# Replicas and cores of each; the last two are not measured.
DIVISIONS = ((2, 4), (4, 2), (8, 1), (2, 3), (5, 1))


def one_coefficient(series: PackedSeries) -> Crowding:
    """What one s for all divisions says of each."""
    known = [(one.point, one.interference) for one in series.divisions if one.interference is not None]
    others = np.array([point.replicas - 1.0 for point, _ in known])
    excess = np.array([1.0 / kept.value - 1.0 for _, kept in known])
    error = fmean((kept.half_width or 0.0) / kept.value for _, kept in known) / float(np.linalg.norm(others))
    s = max(0.0, float(others @ excess / (others @ others)) + error)
    divisions = [CrowdedDivision(point.replicas, point.cores, 1, 1 + s * (point.replicas - 1)) for point, _ in known]
    return Crowding(tuple(divisions), CORES)


def each_for_itself(series: PackedSeries) -> Crowding | None:
    """What every division says of itself."""
    return series.crowding


RULES = {"one s for all": one_coefficient, "each for itself": each_for_itself}


@dataclass(frozen=True, slots=True)
class Promise:
    """A throughput promised of a division: whether new launches kept it, and its share of the true one.

    `too_small` says that the slowdown that was reckoned with is below the true one.
    """

    division: tuple[int, int]
    too_small: bool
    kept: bool
    share: float


def promises(machine: PackedMachine, series: Series, assurance: float, chance: random.Random) -> Iterator[Promise]:
    """What is promised of every division."""
    (curve,) = level_curves(fit(series))
    for replicas, cores in DIVISIONS:
        size, truth = Size(cores, curve), machine.slowdown_of(replicas, cores)
        slowdown = size.crowding(replicas)
        promised = replicas / slowdown / exp(size.mixture(replicas).quantiles(np.array([assurance]))[0])
        each = 1.0 / machine.alone(cores) / truth
        noise = hypot(machine.noise, machine.launch_noise)
        made = fsum(each * exp(chance.gauss(0, noise)) for _ in range(replicas))
        yield Promise((replicas, cores), slowdown < truth - 1e-9, made >= promised, promised / replicas / each)


def measure(name: str, trials: int, seed: int, assurance: float) -> dict[str, list[Promise]]:
    """Both rules on the same simulated measurements of a machine."""
    made: dict[str, list[Promise]] = {rule: [] for rule in RULES}
    for trial in range(trials):
        own = 10_000 * seed + trial
        machine = PackedMachine(slowdown=MACHINES[name], noise=NOISE, launch_noise=NOISE, drift=0.0, seed=own)
        summaries = summarize(map(launch_of, machine.rows(pack_study(launches=str(LAUNCHES)))))
        (packed,), (series,) = packed_series(summaries), selected_series(select_points(summaries))
        for rule, crowding in RULES.items():
            of_rule = replace(series, crowding=crowding(packed))
            made[rule] += promises(machine, of_rule, assurance, random.Random(f"{name} {own}"))
    return made


def cell(made: list[Promise]) -> str:
    """How often the promise was kept, how often the slowdown was too small, and the promised share of the truth."""
    shares = fmean(one.kept for one in made), fmean(one.too_small for one in made), fmean(one.share for one in made)
    return ", ".join(f"{100 * share:.0f} %" for share in shares)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--assurance", type=float, default=0.95)
    given = parser.parse_args()
    print("|", " | ".join(("machine", "rule", *(f"{replicas} × {cores}" for replicas, cores in DIVISIONS))), "|")
    print("|", " | ".join(["---"] * (2 + len(DIVISIONS))), "|")
    for name in MACHINES:
        for rule, made in measure(name, given.trials, given.seed, given.assurance).items():
            cells = [cell([one for one in made if one.division == division]) for division in DIVISIONS]
            print("|", " | ".join((name, rule, *cells)), "|", flush=True)


if __name__ == "__main__":
    main()
