"""Steps on another machine, from the laws of their ops on one and the ceilings of both (docs/how-to/operations.md).

A part of a step has a rate C(n) on n cores by its class: products and convolutions the rate of `matmul`, the time
between ops n times the speed of one core, other ops the geometric mean of both and `stream`. With c(n) = C(n) / C(1),
its law on machine A is fitted over c_A instead of threads, and machine B does the same work:

    t_A(n) = a / c_A(n) + b            t_B(n) = (a / c_B(n) + b) · C_A(1) / C_B(1)

Kernels differ. The error e = ln(measured / predicted) of a class of ops in a network grows with the distance D of the
machines, and with the doublings of threads beyond the largest traced number:

    e = D · (pair + network) + beyond      pair ~ τ·t(ν)    network ~ N(0, σ²)    beyond ~ ξ·t(ν)·√doublings

Networks measured on both machines determine `pair`, which all share: the posterior of a normal prior and their errors
(Gelman et al., Bayesian Data Analysis, section 2.5). `benchmarks.machines` estimates τ, σ and ξ. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, log2, sqrt
from statistics import fmean

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.distributions import LEVEL, normal_quantile
from scaling.analysis.estimates import Estimate
from scaling.analysis.roofline import MATMUL, STREAM
from scaling.analysis.traces import op_class
from scaling.errors import FitError, count
from scaling.features.profiling.evaluation import MeasuredStep, OpEvaluation, refuse_ops
from scaling.features.profiling.laws import StepLaws, StepPrediction, laws_of, step_prediction
from scaling.features.profiling.profile import DRAWS, NOT_OPS, SEED, PartTimes

# The error of a class with a smaller share of a step, in the geometric mean of measured and predicted, is ignored.
LEAST_SHARE = 0.05
BETWEEN_OPS = "between ops"
BOUND_BY_COMPUTE = ("matrix", "convolution")


def group_of(part: str) -> str:
    """The class of an op, or the time between ops."""
    return BETWEEN_OPS if part in NOT_OPS else op_class(part)


@dataclass(frozen=True, slots=True)
class Speeds:
    """A machine's rates by cores and workload, and imports per second of one core."""

    name: str
    rates: Mapping[int, Mapping[str, Estimate]]
    imports: Estimate | None

    @property
    def between_ops(self) -> Estimate:
        """The speed of one core between ops: how fast it imports TensorFlow, if known."""
        return self.imports or self.rate(1, MATMUL)

    def rate(self, cores: int, workload: str) -> Estimate:
        """A ceiling on some cores."""
        if workload not in self.rates.get(cores, {}):
            measured = ", ".join(str(number) for number, rates in self.rates.items() if workload in rates)
            raise FitError(
                f"{self.name} has no {workload} ceiling for {cores} cores (measured: {measured or 'none'}); measure it "
                f"with scaling sweep ceilings --set cores={cores}"
            )
        return self.rates[cores][workload]


def distance(here: Speeds, there: Speeds) -> float:
    """The standard deviation of the logarithms of the ratios of two machines' one-core rates: 0 if one machine is three
    times as fast in everything."""
    both = [(speeds.rate(1, MATMUL), speeds.rate(1, STREAM), speeds.between_ops) for speeds in (here, there)]
    return float(np.std([log(other.value / ours.value) for ours, other in zip(*both, strict=True)]))


def ceiling_laws(times: PartTimes, here: Speeds, size: int = DRAWS) -> StepLaws:
    """The laws of one subject's parts over ceilings, in seconds times the rate of one core.

    Refused without ceilings for its ops and two numbers of threads.
    """
    step = dict(zip(times.names, times.means[0].tolist(), strict=True))
    unbound = {name for name in step if group_of(name) == "other"}
    refuse_ops(step, unbound, "the step is in ops without a known ceiling")
    traced = [number for number in times.threads if {MATMUL, STREAM} <= set(here.rates.get(number, ()))]
    if len(traced) < 2 or 1 not in here.rates:
        raise FitError(
            "laws need ceilings for one core and for at least two of the traced numbers of threads "
            f"({', '.join(map(str, times.threads))}), but {here.name} has them for "
            f"{', '.join(map(str, traced)) or 'none'}"
        )
    one, *relative = _capacities(here, times.names, traced, 1 + size, SEED)
    laws = laws_of(times.only(traced), size, np.stack(relative, axis=1))
    return replace(laws, parallel=laws.parallel * one, serial=laws.serial * one)


def _capacities(machine: Speeds, parts: Sequence[str], counts: Sequence[int], size: int, seed: int) -> list[Floats]:
    """The rate of one core, then the relative capacity of each count, draws × parts.

    The first draw is the estimate; the others are log-normal with the intervals of the rates.
    """
    chance = np.random.default_rng(seed)

    def draw(rate: Estimate) -> Floats:
        spread = log(rate.high / rate.low) / 2 / normal_quantile((1 + LEVEL) / 2) if rate.low and rate.high else 0.0
        return np.asarray(rate.value * np.exp(np.r_[0.0, spread * chance.standard_normal(size - 1)]))

    def by_count(workload: str) -> list[Floats]:
        one = draw(machine.rate(1, workload))
        several = [one if number == 1 else draw(machine.rate(number, workload)) for number in counts]
        return [one, *(np.maximum(rates / one, 1.0) for rates in several)]

    compute, memory = by_count(MATMUL), by_count(STREAM)
    core = [draw(machine.between_ops), *(np.full(size, float(number)) for number in counts)]
    bounds = {BETWEEN_OPS: core} | dict.fromkeys(BOUND_BY_COMPUTE, compute)
    all_three = [np.cbrt(one * two * three) for one, two, three in zip(compute, memory, core, strict=True)]
    return [
        np.stack(rates, axis=1)
        for rates in zip(*(bounds.get(group_of(part), all_three) for part in parts), strict=True)
    ]


@dataclass(frozen=True, slots=True)
class ErrorSizes:
    """Standard deviations of the errors: common to a pair of machines, of one network, and per doubling of threads.

    The first two are for D = 1; `freedom` is the number of classes behind the first.
    """

    pair: float
    network: float
    doubling: float
    freedom: int

    def at(self, apart: float) -> "ErrorSizes":
        """The sizes for two machines at a distance."""
        return replace(self, pair=self.pair * apart, network=self.network * apart)


# From docs/examples (two cores of 64-bit Arm and sixteen of x86-64, both ways) by `python -m benchmarks.machines`.
ERROR_SIZES = ErrorSizes(pair=0.34, network=0.28, doubling=0.49, freedom=7)

# By class of ops, the mean and the deviation of the error that networks share on a pair of machines.
Offsets = Mapping[str, tuple[float, float]]


def predict_elsewhere(
    laws: StepLaws, there: Speeds, threads: int, sizes: ErrorSizes, known: Offsets, measured: MeasuredStep | None = None
) -> StepPrediction:
    """Predict the step on some threads of another machine, with known errors and the sizes of others at its distance.

    A class has one error in each draw; the first draw is the expected one.
    """
    size, names = len(laws.noise), laws.times.names
    one, relative = _capacities(there, names, [threads], 1 + size, SEED + 1)
    chance = np.random.default_rng(SEED + 2)
    beyond = sizes.doubling * sqrt(laws.doublings(threads)) * chance.standard_t(sizes.freedom, size)
    factors = {}
    for group in dict.fromkeys(map(group_of, names)):
        mean, deviation = known.get(group, (0.0, sizes.pair))
        common = chance.standard_normal(size) if group in known else chance.standard_t(sizes.freedom, size)
        own = sizes.network * chance.standard_normal(size)
        factors[group] = np.exp(mean + np.r_[0.0, deviation * common + own + beyond])
    seconds = (laws.parallel / relative + laws.serial) / one * np.stack([factors[group_of(name)] for name in names], 1)
    traced = measured.traced_seconds(laws.times.plain_ratio) if measured else None
    return step_prediction(laws, threads, seconds, traced)


@dataclass(frozen=True, slots=True)
class ElsewherePrediction:
    """A subject's step on some threads of another machine, and its measurement there, if any.

    `by_networks` is corrected by the errors of other networks there.
    """

    name: str
    laws: StepLaws
    measured: MeasuredStep | None
    by_ceilings: StepPrediction
    by_networks: StepPrediction | None = None

    @property
    def network(self) -> str:
        """The network without its options and mode."""
        return self.name.split()[0]


@dataclass(frozen=True, slots=True)
class ClassError:
    """The logarithm of measured over predicted for the ops of a class in one network on some threads.

    `doublings` counts from the largest traced number of threads; `weight` is the class's share of the step.
    """

    network: str
    group: str
    threads: int
    doublings: float
    log_error: float
    weight: float


def class_errors(one: ElsewherePrediction) -> Iterator[ClassError]:
    """The errors by ceilings of the classes with a notable share of a traced step."""
    if one.measured and one.measured.parts:
        sides = {name: part.value for name, part in one.by_ceilings.parts.items()}, one.measured.parts
        whole, threads = sum(sides[0].values()) * sum(sides[1].values()), one.by_ceilings.threads
        for group in dict.fromkeys(map(group_of, sides[0])):
            predicted, measured = (sum(side[name] for name in side if group_of(name) == group) for side in sides)
            weight = sqrt(predicted * measured / whole)
            if weight >= LEAST_SHARE:
                error = log(measured / predicted)
                yield ClassError(one.network, group, threads, one.laws.doublings(threads), error, weight)


def mean_errors(errors: Iterable[ClassError]) -> Mapping[str, list[ClassError]]:
    """The mean error of every network by class, weighted by the class's share of each step."""
    by_network: dict[tuple[str, str], list[ClassError]] = defaultdict(list)
    for error in errors:
        by_network[error.group, error.network].append(error)
    means = defaultdict(list)
    for (group, _), several in by_network.items():
        weights = [error.weight for error in several]
        mean = float(np.average([error.log_error for error in several], weights=weights))
        means[group].append(replace(several[0], log_error=mean, weight=fmean(weights)))
    return means


def offsets(errors: Sequence[ClassError], threads: int, sizes: ErrorSizes) -> Offsets:
    """The common error of every class on some threads, from networks measured on both machines.

    Each network counts once, with its errors on the nearest number of threads. `sizes` are for the machines' distance.
    """
    apart = {error: abs(log2(error.threads / threads)) for error in errors}
    nearest = {error.network: apart[error] for error in sorted(errors, key=lambda error: -apart[error])}
    near = mean_errors(error for error in errors if apart[error] == nearest[error.network])
    known = {}
    for group, means in near.items() if sizes.pair else ():
        beyond = [error.doublings + nearest[error.network] for error in means]
        precisions = [1 / sizes.pair**2, *(1 / (sizes.network**2 + sizes.doubling**2 * one) for one in beyond)]
        mean = np.average([0.0, *(error.log_error for error in means)], weights=precisions)
        known[group] = float(mean), 1 / sqrt(sum(precisions))
    return known


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """The predictions for another machine, the reasons for missing ones, and the distance of the machines."""

    predictions: tuple[ElsewherePrediction, ...]
    refusals: tuple[str, ...]
    distance: float


def predict_on(
    result: OpEvaluation,
    threads: Sequence[int],
    here: Speeds,
    there: Speeds,
    measured: Sequence[MeasuredStep],
    sizes: Mapping[str, ErrorSizes] | None = None,
    draws: int = DRAWS,
) -> OtherMachine:
    """Predict the steps of every subject of a profile on some threads of another machine.

    The errors of networks measured there correct the predictions of the others, never their own. `sizes` replaces the
    default sizes of errors by network.
    """
    apart = distance(here, there)
    scale = defaultdict(lambda: ERROR_SIZES.at(apart), {name: one.at(apart) for name, one in (sizes or {}).items()})
    several = {profile for subject in result.scalings for profile in subject.profiles}
    alone = [name for name, profile in zip(result.names, result.profiles, strict=True) if profile not in several]
    reason = "traced on only one number of threads, so no law can be fitted"
    refusals = [*map(str, result.complaints), *(f"{name}: {reason}" for name in alone)]
    first: list[ElsewherePrediction] = []
    for subject in result.scalings:
        try:
            laws = ceiling_laws(subject.laws.times, here, draws)
        except FitError as error:
            refusals.append(f"{subject.name}: {error}")
            continue
        for number in threads:
            try:
                step = subject.step_among(measured, number)
                by_ceilings = predict_elsewhere(laws, there, number, scale[subject.name.split()[0]], {}, step)
                first.append(ElsewherePrediction(subject.name, laws, step, by_ceilings))
            except FitError as error:
                refusals.append(f"{subject.name} on {count(number, 'thread')}: {error}")
    errors = [error for one in first for error in class_errors(one)]

    def corrected(one: ElsewherePrediction) -> ElsewherePrediction:
        own, number = scale[one.network], one.by_ceilings.threads
        known = offsets([error for error in errors if error.network != one.network], number, own)
        again = predict_elsewhere(one.laws, there, number, own, known, one.measured) if known else None
        return replace(one, by_networks=again)

    return OtherMachine(tuple(map(corrected, first)), tuple(refusals), apart)
