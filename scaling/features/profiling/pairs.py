"""What profiles show: the findings of the Fathom paper (IISWC 2016, Figures 1 to 6) for any workload. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import inf, pi, sqrt
from statistics import NormalDist, fmean, stdev

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.op_classes import OpClass
from scaling.analysis.traces import Trace
from scaling.errors import need
from scaling.features.profiling.profile import SCIPY, OpShare, Profile
from scaling.study.planning import Point

# An op type below this share of op time is not worth a line (the paper's Figure 3).
NOTABLE = 0.01
# How much of op time a handful of types makes up (the paper's Figure 2).
MOST = 0.9
# Steps drift where a trend is this unlikely to be chance, and would change a step by so much from first to last.
UNLIKELY = 0.01
DRIFT = 0.05
# They are steady only where so large a drift would have been seen with this probability.
POWER = 0.9


def notable(profile: Profile, least: float = NOTABLE) -> tuple[OpShare, ...]:
    """The op types with at least a share of op time (Figure 3)."""
    return tuple(op for op in profile.ops if op.share >= least)


def cumulative_shares(profile: Profile) -> tuple[float, ...]:
    """The share of op time of the heaviest type, of the two heaviest, and so on (Figure 2)."""
    return tuple(accumulate(op.share for op in profile.ops))


def types_for(profile: Profile, share: float = MOST) -> int:
    """How many op types make up so much of op time."""
    return sum(reached < share - 1e-12 for reached in cumulative_shares(profile)) + 1 if profile.ops else 0


def loss_share(profile: Profile) -> float | None:
    """The share of op time in the loss and its gradient, by their scope; None where the traces do not tell it."""
    return profile.purpose_share("loss")


@dataclass(frozen=True, slots=True)
class Stationarity:
    """Whether every step is like the last (Figure 1): op time per step, its spread, and its trend.

    `drift` is by how much of itself a step changes from the first to the last (the Theil-Sen slope), `p` how likely
    so clear a trend is by chance (Mann-Kendall test); neither is known for two steps. `noise` is the spread about the
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
        """Whether there is no significant trend of a size that matters; None where these steps are too few to tell."""
        if self.drift is not None and self.p is not None and self.p < UNLIKELY and abs(self.drift) >= DRIFT:
            return False
        return True if self.detectable_drift <= DRIFT else None

    @property
    def detectable_drift(self) -> float:
        """The drift that the test would find with a probability of 90 % in so many steps of such a spread."""
        steps = len(self.step_seconds)
        return inf if steps < LEAST_STEPS else self.noise * detectable_trend(steps)

    @property
    def steps_needed(self) -> int | None:
        """How many steps of such a spread would show a drift that matters; None where too few tell the spread."""
        if len(self.step_seconds) < LEAST_STEPS:
            return None
        enough = [steps for steps in STEP_COUNTS if self.noise * detectable_trend(steps) <= DRIFT]
        return int(min(enough, default=STEP_COUNTS[-1]))


# With fewer steps not even a perfect order is unlikely enough: both have a probability of 2 / 5!.
LEAST_STEPS = 6
STEP_COUNTS = (*range(LEAST_STEPS, 21), 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000)
# Series by which the power of the test is found, and the steps up to which it is; beyond, its asymptotic efficiency
# relative to regression, (3/π)^(1/3), gives a trend that is right to a tenth (Stuart 1956).
SERIES = 1000
MOST_SIMULATED = 30


@cache
def detectable_trend(steps: int) -> float:
    """The linear trend, in standard deviations from first step to last, that the test finds with 90 % probability."""
    if steps > MOST_SIMULATED:
        normal = NormalDist()
        units = normal.inv_cdf(1 - UNLIKELY / 2) + normal.inv_cdf(POWER)
        return float(units * sqrt(12 / steps) / (3 / pi) ** (1 / 6))
    noise = np.random.default_rng(steps).standard_normal((SERIES, steps))
    ramp = np.linspace(0.0, 1.0, steps)
    critical = critical_score(steps)
    low, high = 0.0, 20.0
    while high - low > 0.02:
        trend = (low + high) / 2
        found = float(np.mean(np.abs(_kendall_scores(noise + trend * ramp)) >= critical))
        low, high = (low, trend) if found >= POWER else (trend, high)
    return high


def _kendall_scores(series: Floats) -> Floats:
    """Kendall's S of each row: pairs in ascending order less pairs in descending order."""
    earlier, later = np.triu_indices(series.shape[1], 1)
    scores: Floats = np.sign(series[:, later] - series[:, earlier]).sum(axis=1)
    return scores


def critical_score(steps: int) -> int:
    """The least |S| that is significant, by the exact distribution of inversions of a random order."""
    chances = np.ones(1)
    for count in range(2, steps + 1):
        chances = np.convolve(chances, np.full(count, 1 / count))
    pairs = steps * (steps - 1) // 2
    scores = pairs - 2 * np.arange(len(chances))
    return next(
        (score for score in range(pairs % 2, pairs + 1, 2) if chances[np.abs(scores) >= score].sum() < UNLIKELY),
        pairs + 1,
    )


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
    """The same network training and inferring on as many threads (Figure 5)."""

    train: Profile
    infer: Profile

    @property
    def ratio(self) -> float:
        """How many times as long training takes for an item."""
        return _per_item(self.train, self.train.wall_seconds) / _per_item(self.infer, self.infer.wall_seconds)

    def class_seconds(self, op_class: OpClass) -> tuple[float, float]:
        """Seconds per item of a class, training and inferring."""
        train = self.train.class_share(op_class) * self.train.op_seconds
        infer = self.infer.class_share(op_class) * self.infer.op_seconds
        return _per_item(self.train, train), _per_item(self.infer, infer)


def mode_pairs(profiles: Iterable[Profile]) -> list[ModePair]:
    """Every training profile with the inference profile on as many threads."""
    by_mode: dict[tuple[object, ...], dict[str, Profile]] = defaultdict(dict)
    for profile in profiles:
        by_mode[_but_mode(profile.subject), profile.threads, profile.inter][profile.point.mode] = profile
    return [ModePair(pair["train"], pair["infer"]) for pair in by_mode.values() if {"train", "infer"} <= set(pair)]


def _but_mode(point: Point) -> tuple[object, ...]:
    return point.workload, point.size, point.items, point.scale, point.smt, point.placement, point.memory


def _per_item(profile: Profile, seconds: float) -> float:
    return seconds / profile.items_per_step


@dataclass(frozen=True, slots=True)
class OpTimes:
    """Seconds per step of one part on each number of threads."""

    name: str
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Threading:
    """One subject's profiles with more and more threads (Figure 6)."""

    profiles: tuple[Profile, ...]

    @property
    def threads(self) -> tuple[int, ...]:
        """The numbers of threads, ascending."""
        return tuple(profile.threads for profile in self.profiles)

    @property
    def times(self) -> tuple[OpTimes, ...]:
        """Every op type's time on each number of threads, heaviest on the fewest first."""
        names = dict.fromkeys(op.type for profile in self.profiles for op in profile.ops)
        by_profile = [{op.type: op.seconds for op in profile.ops} for profile in self.profiles]
        return tuple(OpTimes(name, tuple(seconds.get(name, 0.0) for seconds in by_profile)) for name in names)


def threadings(profiles: Sequence[Profile]) -> list[Threading]:
    """Subjects that were traced with more than one number of threads."""
    by_subject: dict[tuple[Point, int], list[Profile]] = defaultdict(list)
    for profile in profiles:
        by_subject[profile.subject, profile.inter].append(profile)
    return [
        Threading(tuple(sorted(group, key=lambda profile: profile.threads)))
        for group in by_subject.values()
        if len(group) > 1
    ]


def outside_ops(profile: Profile) -> tuple[float, float]:
    """The shares of a step's wall time that are the framework's overhead between ops, and unexplained."""
    wall = profile.wall_seconds
    return profile.overhead_seconds / wall, profile.unexplained_seconds / wall
