"""Estimators of the undisturbed speedup, held against the truth on simulated busy hosts.

    python -m benchmarks.levels [--sweeps 100] [--seed 1] [--design turns] [--estimator product] [HOST …]

Every host is simulated with processes that take turns and with processes that run apart, five launches in the same wall
time. An estimator gives each launch a level; a speedup is the ratio of levels within a cohort (Student's interval over
launches), or, where processes ran apart, the ratio of means (Welch's interval). It is answered where three launches of
both counts have a level. A cell has the share answered, bias, root mean square error, coverage of the 95 % interval and
its median half width. `product` is what the program does: verdicts, levels and pairs of its own.

- half-sample mode: Robertson & Cryer, Journal of the American Statistical Association 69 (1974)
- mixture: two normal components of one variance, by expectation maximisation (Dempster et al. 1977), where the Bayesian
  information criterion speaks for two
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.hosts import COUNTS, HOSTS, Apart, Curve, Sweep, Turns, simulate
from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.analysis.turns import TurnTimes

Floats = NDArray[np.float64]
Level = Callable[[Sequence[TurnTimes]], float | None]
Estimator = Callable[[Sweep, int], Estimate | None]

ENOUGH = 3
DESIGNS: dict[str, Turns | Apart] = {"turns": Turns(), "apart": Apart()}


def log_windows(turns: Sequence[TurnTimes]) -> Floats:
    """The logarithms of all windows, ascending."""
    return np.sort(np.log([window for turn in turns for window in turn.windows]))


def window_quantile(share: float) -> Level:
    """A quantile of the windows."""
    return lambda turns: float(np.quantile(log_windows(turns), share))


def median_turn(turns: Sequence[TurnTimes]) -> float:
    """The median of the turns' medians."""
    return log(float(np.median([turn.seconds for turn in turns])))


def half_sample_mode(turns: Sequence[TurnTimes]) -> float:
    """The densest half of the windows, and of that again, until two are left."""
    windows = log_windows(turns)
    while len(windows) > 2:
        half = (len(windows) + 1) // 2
        start = int(np.argmin(windows[half - 1 :] - windows[: len(windows) - half + 1]))
        windows = windows[start : start + half]
    return float(windows.mean())


def mixture(turns: Sequence[TurnTimes]) -> float:
    """The lower of two normal components, or the median where there is one."""
    windows = log_windows(turns)
    variance = max(float(windows.var()), 1e-6)
    single = -0.5 * len(windows) * (np.log(2 * np.pi * variance) + 1.0)
    likelihood, lower = _two_components(windows, variance)
    two = 2.0 * (likelihood - single) > 2.0 * np.log(len(windows)) + 4.0
    return lower if two else float(np.median(windows))


def _two_components(windows: Floats, variance: float) -> tuple[float, float]:
    """The log likelihood of two components, and the mean of the lower."""
    middle = len(windows) // 2
    means, shares = np.array([windows[:middle].mean(), windows[middle:].mean()]), np.array([0.5, 0.5])
    variance /= 4.0
    for _ in range(25):
        density = np.log(shares) - 0.5 * np.log(2 * np.pi * variance) - 0.5 * (windows[:, None] - means) ** 2 / variance
        total = np.logaddexp(density[:, 0], density[:, 1])
        weights = np.exp(density - total[:, None])
        shares = np.clip(weights.mean(axis=0), 1e-6, None) / weights.mean(axis=0).sum()
        means = (weights * windows[:, None]).sum(axis=0) / np.clip(weights.sum(axis=0), 1e-9, None)
        variance = max(float((weights * (windows[:, None] - means) ** 2).sum()) / len(windows), 1e-6)
    return float(total.sum()), float(means.min())


def near_fastest(turns: Sequence[TurnTimes]) -> float:
    """The median of the windows within 12 % of the end of the fastest twentieth."""
    windows = log_windows(turns)
    return float(np.median(windows[windows <= np.quantile(windows, 0.05) + log(1.12)]))


def of_quiet(level: Level) -> Level:
    """A level from quiet turns alone."""

    def quiet_level(turns: Sequence[TurnTimes]) -> float | None:
        quiet = [turn for turn in turns if turn.quiet]
        return level(quiet) if quiet else None

    return quiet_level


def by_levels(level: Level, leave_out_slow: bool = False) -> Estimator:
    """The ratio of the launches' levels; those far slower than the second fastest may be left out."""

    def estimate(sweep: Sweep, cores: int) -> Estimate | None:
        one, other = (_levels(sweep, count, level, leave_out_slow) for count in (1, cores))
        cohorts = any(launch.cohort for launch in sweep.launches)
        return _within_cohorts(one, other) if cohorts else _of_means(one, other)

    return estimate


def quiet_rounds(sweep: Sweep, cores: int) -> Estimate | None:
    """The median ratio of turns over the rounds in which both were quiet; only where turns are taken."""
    one, other = ({launch.number: launch for launch in _launches(sweep, count)} for count in (1, cores))
    medians = [_median_round_ratio(one[number], other[number]) for number in one]
    known = [exp(ratio) for ratio in medians if ratio is not None]
    return estimates.mean(known) if len(known) >= ENOUGH else None


def product(sweep: Sweep, cores: int) -> Estimate | None:
    """What the program says."""
    point = next(point for point in speedups(summarize(sweep.launches)) if point.summary.point.cores == cores)
    return point.speedup if point.valid and point.speedup and point.speedup.low else None


ESTIMATORS: dict[str, Estimator] = {
    "median of turns": by_levels(median_turn),
    "quiet turns: median of windows": by_levels(of_quiet(window_quantile(0.5))),
    "quiet rounds, paired": quiet_rounds,
    "half-sample mode": by_levels(half_sample_mode),
    "5 % quantile of windows": by_levels(window_quantile(0.05)),
    "25 % quantile of windows": by_levels(window_quantile(0.25)),
    "mixture": by_levels(mixture),
    "quiet turns: mixture, slow launches left out": by_levels(of_quiet(mixture), leave_out_slow=True),
    "quiet turns: near the fastest": by_levels(of_quiet(near_fastest)),
    "product": product,
}


def _launches(sweep: Sweep, cores: int) -> list[Launch]:
    return [launch for launch in sweep.launches if launch.point.cores == cores]


def _levels(sweep: Sweep, cores: int, level: Level, leave_out_slow: bool) -> dict[int, float]:
    levels = {launch.number: level(launch.turns) for launch in _launches(sweep, cores)}
    known = {number: value for number, value in levels.items() if value is not None}
    if not leave_out_slow or len(known) < ENOUGH:
        return known
    second_fastest = sorted(known.values())[1]
    return {number: value for number, value in known.items() if value <= second_fastest + log(1.15)}


def _within_cohorts(one: Mapping[int, float], other: Mapping[int, float]) -> Estimate | None:
    ratios = [exp(one[number] - other[number]) for number in one if number in other]
    return estimates.mean(ratios) if len(ratios) >= ENOUGH else None


def _of_means(one: Mapping[int, float], other: Mapping[int, float]) -> Estimate | None:
    above, below = ([exp(value) for value in levels.values()] for levels in (one, other))
    return estimates.ratio(above, below) if min(len(above), len(below)) >= ENOUGH else None


def _median_round_ratio(one: Launch, other: Launch) -> float | None:
    quiet = {turn.round: log(turn.seconds) for turn in one.turns if turn.quiet}
    ratios = [quiet[turn.round] - log(turn.seconds) for turn in other.turns if turn.quiet and turn.round in quiet]
    return float(np.median(ratios)) if ratios else None


def cell(estimator: Estimator, sweeps: Sequence[Sweep], cores: int) -> str:
    """Share answered, bias, RMSE, coverage and half width of an estimator at a count."""
    answers = [(estimate, sweep.true_speedup(cores)) for sweep in sweeps if (estimate := estimator(sweep, cores))]
    if not answers:
        return "0.00"
    errors = np.array([log(estimate.value / truth) for estimate, truth in answers])
    covered = np.mean([(estimate.low or 0.0) <= truth <= (estimate.high or np.inf) for estimate, truth in answers])
    width = np.median([estimate.half_width or np.inf for estimate, _ in answers])
    spread = float(np.sqrt((errors**2).mean()))
    return f"{len(answers) / len(sweeps):.2f}, {errors.mean():+.1%}, {spread:.1%}, {covered:.2f}, ± {width:.1%}"


def main() -> None:
    """Print the table, host by host."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hosts", nargs="*", default=list(HOSTS))
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--design", choices=DESIGNS, action="append")
    parser.add_argument("--estimator", choices=ESTIMATORS, action="append")
    arguments = parser.parse_args()
    print("| host | design | estimator |", *(f"{n} cores |" for n in COUNTS[1:]))
    print("|---|---|---|" + "---|" * len(COUNTS[1:]))
    for host in arguments.hosts:
        for name in arguments.design or DESIGNS:
            chance = np.random.default_rng(arguments.seed)
            sweeps = [simulate(HOSTS[host], Curve(), DESIGNS[name], chance) for _ in range(arguments.sweeps)]
            for estimator in arguments.estimator or ESTIMATORS:
                if estimator != "quiet rounds, paired" or name == "turns":
                    cells = " | ".join(cell(ESTIMATORS[estimator], sweeps, n) for n in COUNTS[1:])
                    print(f"| {host} | {name} | {estimator} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
