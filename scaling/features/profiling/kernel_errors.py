"""How far a prediction of another machine is off because its kernels are others: a random-effects model. Pure.

For a class of ops in one network the error is e = ln(measured / predicted by ceilings). It has a part that all networks
have in common on a pair of machines, since they share its kernels, and a part of their own, since kernels depend on
shapes. Both are normal (so errors are log-normal), and both grow with how differently the ceilings of the two machines
compare, the distance D: the root mean square of the logarithms of their ratios on one core about their mean. Two
machines of which one is three times as fast in everything have D = 0, and so has a machine and itself.

    e = D · (pair + network) + beyond      pair ~ τ·t(ν)    network ~ N(0, σ²)    beyond ~ ξ·t(ν)·√doublings

where doublings are those of threads beyond the most that were traced, whose error all classes of a step share, and t
has the few degrees of freedom ν with which τ and ξ are known, those of as many classes and networks. τ, σ and ξ are
estimated by moments (analysis of variance; Searle, Casella & McCulloch 1992) about zero, since which of two machines is
predicted from the other is arbitrary. Networks measured on both machines tell what is common to them: the posterior of
a normal prior and their errors (Gelman et al., Bayesian Data Analysis, section 2.5).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, log2, sqrt
from statistics import fmean

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.op_classes import op_class
from scaling.errors import FitError
from scaling.features.profiling.profile import NOT_OPS

BETWEEN_OPS = "between ops"
# A class that takes less of a step, in the geometric mean of measured and predicted, says little of its kernels.
LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class ClassError:
    """The logarithm of measured over predicted for the ops of a class in one network on so many threads.

    `doublings` are those of threads beyond the most that were traced; `weight` is the share of the class in the step.
    """

    network: str
    group: str
    threads: int
    doublings: float
    log_error: float
    weight: float


@dataclass(frozen=True, slots=True)
class ErrorSizes:
    """Standard deviations of the errors: common to a pair of machines, of one network, and per doubling of threads.

    The first two are for D = 1; `freedom` is the number of classes from which the first is known.
    """

    pair: float
    network: float
    doubling: float
    freedom: int


# From docs/examples (two cores of 64-bit Arm and sixteen of x86-64, both ways) by `python -m benchmarks.machines`.
ERROR_SIZES = ErrorSizes(pair=0.34, network=0.28, doubling=0.49, freedom=7)


@dataclass(frozen=True, slots=True)
class Offset:
    """What is known of a class's common error on a pair of machines: its mean, and its deviation."""

    mean: float
    deviation: float
    freedom: int | None


def group_of(part: str) -> str:
    """The class of an op, or the time between ops."""
    return BETWEEN_OPS if part in NOT_OPS else op_class(part)


def doublings(threads: int, traced: Sequence[int]) -> float:
    """How many times the threads are doubled beyond the most that were traced."""
    return max(0.0, log2(threads / max(traced)))


def class_errors(
    network: str, threads: int, beyond: float, predicted: Mapping[str, float], measured: Mapping[str, float]
) -> list[ClassError]:
    """The errors of the classes that take a part of the step worth mentioning, from the seconds of its parts."""
    ours, theirs = _by_group(predicted), _by_group(measured)
    whole = sum(ours.values()), sum(theirs.values())
    shares = {group: sqrt(ours[group] / whole[0] * theirs.get(group, 0.0) / whole[1]) for group in ours if whole[1]}
    return [
        ClassError(network, group, threads, beyond, log(theirs[group] / ours[group]), share)
        for group, share in shares.items()
        if share >= LEAST_SHARE
    ]


def _by_group(parts: Mapping[str, float]) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for name, value in parts.items():
        seconds[group_of(name)] += value
    return dict(seconds)


def error_sizes(ways: Sequence[Sequence[ClassError]], distance: float) -> ErrorSizes:
    """The sizes of errors on machines so far apart, from one way or both; refused where no class has two networks.

    A network counts once in a class, and an error weighs as its class does in the steps.
    """
    classes = [of_class for way in ways for of_class in _by_class(way)]
    several = [errors for errors in classes if len(errors.values) > 1]
    if not several or not distance:
        raise FitError("the errors of a prediction are known from two networks on two machines that differ, or more")
    network = float(np.average([one.variance for one in several], weights=[one.weight for one in several]))
    common = [one.mean**2 - network / one.effective for one in classes]
    pair = max(float(np.average(common, weights=[one.weight for one in classes])), 0.0)
    beyond = [error for way in ways for error in way if error.doublings]
    excess = sum(error.weight * (error.log_error**2 - pair - network) * error.doublings for error in beyond)
    doubling = excess / sum(error.weight * error.doublings**2 for error in beyond) if beyond else 0.0
    freedom = len({one.group for one in classes})
    return ErrorSizes(sqrt(pair) / distance, sqrt(network) / distance, sqrt(max(doubling, 0.0)), freedom)


@dataclass(frozen=True, slots=True)
class _OfClass:
    """The errors of networks in a class one way, and their weights."""

    group: str
    values: Floats
    weights: Floats

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @property
    def effective(self) -> float:
        """The number of networks that would tell as much if all weighed the same (Kish 1965)."""
        return float(self.weights.sum() ** 2 / np.sum(self.weights**2))

    @property
    def mean(self) -> float:
        return float(np.average(self.values, weights=self.weights))

    @property
    def variance(self) -> float:
        about = float(np.average((self.values - self.mean) ** 2, weights=self.weights))
        return about / (1 - 1 / self.effective)


def _by_class(errors: Iterable[ClassError]) -> list[_OfClass]:
    """The weighted mean error of every network by class, on traced numbers of threads."""
    found: dict[str, dict[str, list[ClassError]]] = defaultdict(lambda: defaultdict(list))
    for error in errors:
        if not error.doublings:
            found[error.group][error.network].append(error)
    return [
        _OfClass(
            group,
            np.array([weighted_error(several) for several in by_network.values()]),
            np.array([fmean(error.weight for error in several) for several in by_network.values()]),
        )
        for group, by_network in found.items()
    ]


def weighted_error(errors: Sequence[ClassError]) -> float:
    """The mean error, each weighing as its class does in its step."""
    return float(np.average([error.log_error for error in errors], weights=[error.weight for error in errors]))


def offsets(errors: Sequence[ClassError], threads: int, sizes: ErrorSizes, distance: float) -> dict[str, Offset]:
    """The common error of every class on so many threads, as the networks that both machines measured tell it.

    Each network counts once, with its errors on the number of threads nearest to these.
    """
    prior = (sizes.pair * distance) ** 2
    if not prior:
        return {}
    near = _nearest(errors, threads)
    known = {}
    for group in {error.group for error in near}:
        by_network: dict[str, list[ClassError]] = defaultdict(list)
        for error in near:
            if error.group == group:
                by_network[error.network].append(error)
        variances = [_variance(several[0], threads, sizes, distance) for several in by_network.values()]
        means = [weighted_error(several) for several in by_network.values()]
        precision = sum(1 / variance for variance in variances)
        total = sum(mean / variance for mean, variance in zip(means, variances, strict=True))
        known[group] = Offset(total / (precision + 1 / prior), 1 / sqrt(precision + 1 / prior), None)
    return known


def _nearest(errors: Sequence[ClassError], threads: int) -> list[ClassError]:
    """The errors of each network on the number of threads nearest to these, by their ratio."""
    apart: dict[str, float] = {}
    for error in errors:
        apart[error.network] = min(apart.get(error.network, np.inf), abs(log2(error.threads / threads)))
    return [error for error in errors if abs(log2(error.threads / threads)) == apart[error.network]]


def _variance(error: ClassError, threads: int, sizes: ErrorSizes, distance: float) -> float:
    apart = abs(log2(error.threads / threads))
    return (sizes.network * distance) ** 2 + sizes.doubling**2 * (error.doublings + apart)


def draw_errors(
    parts: Sequence[str],
    beyond: float,
    sizes: ErrorSizes,
    distance: float,
    known: Mapping[str, Offset],
    size: int,
    seed: int,
) -> Floats:
    """Logarithms of errors, draws × parts, alike for the parts of a class; the first row is the expected one."""
    chance = np.random.default_rng(seed)
    groups = [group_of(part) for part in parts]
    unknown = Offset(0.0, sizes.pair * distance, sizes.freedom)
    extrapolated = sizes.doubling * sqrt(beyond) * chance.standard_t(sizes.freedom, size - 1)
    columns = {}
    for group in dict.fromkeys(groups):
        offset = known.get(group, unknown)
        common = (
            chance.standard_normal(size - 1) if offset.freedom is None else chance.standard_t(offset.freedom, size - 1)
        )
        own = sizes.network * distance * chance.standard_normal(size - 1)
        columns[group] = offset.mean + np.r_[0.0, offset.deviation * common + own + extrapolated]
    return np.stack([columns[group] for group in groups], axis=1)
