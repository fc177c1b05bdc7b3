"""What profiles show: the findings of the Fathom paper (IISWC 2016, Figures 1 to 6) for any workload. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, stdev

from scaling.analysis.ops.classes import LOSSES, OpClass
from scaling.analysis.ops.profile import OpShare, Profile
from scaling.analysis.ops.traces import Trace
from scaling.study.planning import Point

# An op type below this share of op time is not worth a line (the paper's Figure 3).
NOTABLE = 0.01
# How much of op time a handful of types makes up (the paper's Figure 2).
MOST = 0.9
# Steps drift where a trend is this unlikely to be chance, and would change a step by so much from first to last.
UNLIKELY = 0.01
DRIFT = 0.05


def notable(profile: Profile, least: float = NOTABLE) -> tuple[OpShare, ...]:
    """The op types with at least a share of op time (Figure 3)."""
    return tuple(op for op in profile.ops if op.share >= least)


def cumulative_shares(profile: Profile) -> tuple[float, ...]:
    """The share of op time of the heaviest type, of the two heaviest, and so on (Figure 2)."""
    return tuple(accumulate(op.share for op in profile.ops))


def types_for(profile: Profile, share: float = MOST) -> int:
    """How many op types make up so much of op time."""
    return sum(reached < share - 1e-12 for reached in cumulative_shares(profile)) + 1 if profile.ops else 0


def loss_share(profile: Profile) -> float:
    """The share of op time in ops that compute a loss and its gradient with it."""
    return sum(op.share for op in profile.ops if op.type in LOSSES)


@dataclass(frozen=True, slots=True)
class Stationarity:
    """Whether every step is like the last (Figure 1): op time per step, its spread, and its trend.

    `drift` is by how much of itself a step changes from the first to the last (the Theil-Sen slope), `p` how likely
    so clear a trend is by chance (Mann-Kendall test); neither is known for two steps.
    """

    trace: Trace
    step_seconds: tuple[float, ...]
    coefficient_of_variation: float
    drift: float | None
    p: float | None

    @property
    def stationary(self) -> bool:
        """Whether there is no significant trend of a size that matters."""
        return self.drift is None or self.p is None or self.p >= UNLIKELY or abs(self.drift) < DRIFT


def stationarity(trace: Trace) -> Stationarity:
    """The trend of op time over the steps of a launch: Theil-Sen slope and Mann-Kendall test."""
    seconds = tuple(sum(op.seconds for op in step.ops) for step in trace.steps)
    mean = fmean(seconds)
    spread = stdev(seconds) / mean if len(seconds) > 1 and mean else 0.0
    if len(seconds) < 3 or len(set(seconds)) == 1:
        return Stationarity(trace, seconds, spread, None, None)
    from scipy import stats  # only profiles need it, and it takes a second to import

    indices = range(len(seconds))
    slope = float(stats.theilslopes(seconds, indices).slope)
    p = float(stats.kendalltau(indices, seconds).pvalue)
    return Stationarity(trace, seconds, spread, slope * (len(seconds) - 1) / mean, p)


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
