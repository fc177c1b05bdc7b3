"""Findings of the Fathom paper (IISWC 2016, Figures 1 to 6) in the profiles of any workload. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import inf, pi, sqrt
from statistics import fmean, stdev

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.distributions import normal_quantile
from scaling.analysis.traces import OpClass, Trace
from scaling.errors import need
from scaling.features.profiling.profile import SCIPY, OpShare, Profile
from scaling.study.planning import Point

# The smallest share of op time of an op type with a line of its own (the paper's Figure 3).
NOTABLE = 0.01
# The share of op time that a handful of types makes up (the paper's Figure 2).
MOST = 0.9
# Steps drift if their trend is this improbable by chance and changes a step by this share from first to last.
UNLIKELY = 0.01
DRIFT = 0.05
# They are steady only if the test would detect a drift of this size with this probability.
POWER = 0.9
# With fewer steps not even a perfect order is improbable enough: both have a probability of 2 / 5!.
LEAST_STEPS = 6
STEP_COUNTS = (*range(LEAST_STEPS, 21), 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000)
# The power of the test is simulated with this number of series up to this number of steps; for more steps, the test's
# asymptotic efficiency relative to regression, (3/π)^(1/3), gives the trend to a tenth (Stuart 1956).
SERIES = 1000
MOST_SIMULATED = 30


def notable(profile: Profile) -> tuple[OpShare, ...]:
    """The op types with a notable share of op time (Figure 3)."""
    return tuple(op for op in profile.ops if op.share >= NOTABLE)


def cumulative_shares(profile: Profile) -> tuple[float, ...]:
    """The share of op time of the heaviest type, of the two heaviest, and so on (Figure 2)."""
    return tuple(accumulate(op.share for op in profile.ops))


def types_for(profile: Profile, share: float = MOST) -> int:
    """The number of op types that make up a share of op time."""
    return sum(reached < share - 1e-12 for reached in cumulative_shares(profile)) + 1 if profile.ops else 0


@dataclass(frozen=True, slots=True)
class Stationarity:
    """Op time per step, its spread, and its trend (Figure 1).

    `drift` is the relative change from the first to the last step (Theil-Sen slope) and `p` the probability of a trend
    at least this clear by chance (Mann-Kendall test), both unknown for two steps. `noise` is the spread about the
    trend.
    """

    trace: Trace
    step_seconds: tuple[float, ...]
    coefficient_of_variation: float
    drift: float | None
    p: float | None
    noise: float

    @property
    def stationary(self) -> bool | None:
        """Whether the steps have no significant trend of a relevant size; None with too few steps."""
        if self.drift is not None and self.p is not None and self.p < UNLIKELY and abs(self.drift) >= DRIFT:
            return False
        return True if self.detectable_drift <= DRIFT else None

    @property
    def detectable_drift(self) -> float:
        """The drift that the test detects with a probability of 90 % in these steps."""
        steps = len(self.step_seconds)
        return inf if steps < LEAST_STEPS else self.noise * detectable_trend(steps)

    @property
    def steps_needed(self) -> int | None:
        """The number of steps with this spread that show a relevant drift; None with too few steps to know it."""
        if len(self.step_seconds) < LEAST_STEPS:
            return None
        enough = [steps for steps in STEP_COUNTS if self.noise * detectable_trend(steps) <= DRIFT]
        return int(min(enough, default=STEP_COUNTS[-1]))


@cache
def detectable_trend(steps: int) -> float:
    """The linear trend, in standard deviations from first to last step, that the test detects with 90 % probability."""
    if steps > MOST_SIMULATED:
        units = normal_quantile(1 - UNLIKELY / 2) + normal_quantile(POWER)
        return float(units * sqrt(12 / steps) / (3 / pi) ** (1 / 6))
    noise = np.random.default_rng(steps).standard_normal((SERIES, steps))
    ramp = np.linspace(0.0, 1.0, steps)
    critical = critical_score(steps)
    low, high = 0.0, 20.0
    while high - low > 0.02:
        trend = (low + high) / 2
        power = float(np.mean(np.abs(_kendall_scores(noise + trend * ramp)) >= critical))
        low, high = (low, trend) if power >= POWER else (trend, high)
    return high


def _kendall_scores(series: Floats) -> Floats:
    """Kendall's S of each row: pairs in ascending order less pairs in descending order."""
    earlier, later = np.triu_indices(series.shape[1], 1)
    scores: Floats = np.sign(series[:, later] - series[:, earlier]).sum(axis=1)
    return scores


def critical_score(steps: int) -> int:
    """The least significant |S|, by the exact distribution of inversions of a random order."""
    chances = np.ones(1)
    for count in range(2, steps + 1):
        chances = np.convolve(chances, np.full(count, 1 / count))
    pairs = steps * (steps - 1) // 2
    scores = np.abs(pairs - 2 * np.arange(len(chances)))
    return next((one for one in range(pairs % 2, pairs + 1, 2) if chances[scores >= one].sum() < UNLIKELY), pairs + 1)


def stationarity(trace: Trace) -> Stationarity:
    """The trend of op time over the steps of a launch: Theil-Sen slope and Mann-Kendall test."""
    seconds = tuple(sum(op.seconds for op in step.ops) for step in trace.steps)
    mean = fmean(seconds)
    spread = stdev(seconds) / mean if len(seconds) > 1 and mean else 0.0
    if len(seconds) < 3 or len(set(seconds)) == 1:
        return Stationarity(trace, seconds, spread, None, None, spread)
    need(*SCIPY)
    from scipy import stats  # only profiles need it, and it takes a second to import

    indices = range(len(seconds))
    slope = float(stats.theilslopes(seconds, indices).slope)
    p = float(stats.kendalltau(indices, seconds).pvalue)
    noise = stdev(value - slope * index for index, value in enumerate(seconds)) / mean
    return Stationarity(trace, seconds, spread, slope * (len(seconds) - 1) / mean, p, noise)


@dataclass(frozen=True, slots=True)
class ModePair:
    """Training and inference of a network on the same number of threads (Figure 5)."""

    train: Profile
    infer: Profile

    @property
    def ratio(self) -> float:
        """The time of an item in training over inference."""
        return self.train.item_seconds / self.infer.item_seconds

    def class_seconds(self, op_class: OpClass) -> tuple[float, float]:
        """Seconds per item of a class, in training and in inference."""
        train, infer = (
            profile.class_share(op_class) * profile.op_seconds / profile.items_per_step
            for profile in (self.train, self.infer)
        )
        return train, infer


def mode_pairs(profiles: Iterable[Profile]) -> list[ModePair]:
    """Every training profile with the inference profile on the same number of threads."""
    by_mode: dict[tuple[object, ...], dict[str, Profile]] = defaultdict(dict)
    for profile in profiles:
        point = profile.subject
        subject = point.workload, point.size, point.items, point.scale, point.smt, point.placement, point.memory
        by_mode[subject, profile.threads, profile.inter][point.mode] = profile
    return [ModePair(pair["train"], pair["infer"]) for pair in by_mode.values() if {"train", "infer"} <= set(pair)]


def threadings(profiles: Sequence[Profile]) -> list[tuple[Profile, ...]]:
    """The profiles of each subject traced on several numbers of threads, threads ascending (Figure 6)."""
    by_subject: dict[tuple[Point, int], list[Profile]] = defaultdict(list)
    for profile in profiles:
        by_subject[profile.subject, profile.inter].append(profile)
    groups = (sorted(group, key=lambda profile: profile.threads) for group in by_subject.values())
    return [tuple(group) for group in groups if len(group) > 1]


def outside_ops(profile: Profile) -> tuple[float, float]:
    """The shares of framework overhead and of unexplained time in a step."""
    return profile.overhead_seconds / profile.wall_seconds, profile.unexplained_seconds / profile.wall_seconds
