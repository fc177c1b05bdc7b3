"""Steps on another machine, from the laws of their ops on one and the ceilings of both (docs/how-to/operations.md).

A part of a step has a rate C(n) on n cores by its class: products and convolutions the rate of `matmul`, the time
between ops n times the speed of one core (how fast it imports TensorFlow), other ops the geometric mean of both and
`stream`. With c(n) = C(n) / C(1) its law on machine A is fitted over c_A, not threads; machine B does the same work:

    t_A(n) = a / c_A(n) + b            t_B(n) = (a / c_B(n) + b) · C_A(1) / C_B(1)

The kernels of B differ. The error e = ln(measured / predicted) of a class of ops in a network grows with the distance D
of the machines, and with the doublings of threads beyond the largest traced number:

    e = D · (pair + network) + beyond      pair ~ τ·t(ν)    network ~ N(0, σ²)    beyond ~ ξ·t(ν)·√doublings

All networks share `pair`, so networks measured on both machines determine it: the posterior of a normal prior and their
errors (Gelman et al., Bayesian Data Analysis, section 2.5). `benchmarks.machines` estimates τ, σ and ξ.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log, log2, sqrt
from operator import mul
from pathlib import Path

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import NORMAL_QUANTILE, Estimate, location
from scaling.analysis.op_classes import op_class
from scaling.analysis.roofline import MATMUL, STREAM, UNITS, ceiling_rates
from scaling.analysis.summary import summarize
from scaling.errors import FitError, StoreError
from scaling.features.profiling.evaluation import OpEvaluation, Scaling
from scaling.features.profiling.laws import StepPrediction, fit_parts, step_prediction
from scaling.features.profiling.profile import DRAWS, NOT_OPS, OVERHEAD, SEED, UNEXPLAINED, PartTimes, draw_means
from scaling.features.profiling.profile import profiles as profiles_of
from scaling.results.rows import launch_of
from scaling.results.store import read_rows
from scaling.results.traces import TRACES, read_traces
from scaling.study.planning import Point

# Ops without a ceiling, or not profiled, are refused from this share of a step on.
LEAST_COVERED = 0.01
# The error of a class with a smaller share of a step, in the geometric mean of measured and predicted, is ignored.
LEAST_SHARE = 0.05
# Importing TensorFlow takes longer than this unless the process was forked with it.
LEAST_IMPORT_SECONDS = 0.5
BETWEEN_OPS = "between ops"
BOUND_BY_COMPUTE = ("matrix", "convolution")


def group_of(part: str) -> str:
    """The class of an op, or the time between ops."""
    return BETWEEN_OPS if part in NOT_OPS else op_class(part)


@dataclass(frozen=True, slots=True)
class Speeds:
    """A machine's operations and bytes per second by cores and workload, and imports per second of one core."""

    name: str
    rates: Mapping[int, Mapping[str, Estimate]]
    imports: Estimate | None

    def rate(self, cores: int, workload: str) -> Estimate:
        """A ceiling on some cores."""
        if workload not in self.rates.get(cores, {}):
            measured = ", ".join(str(count) for count, rates in self.rates.items() if workload in rates)
            raise FitError(
                f"{self.name} has no {workload} ceiling for {cores} cores (measured: {measured or 'none'}); measure it "
                f"with scaling sweep ceilings --set cores={cores}"
            )
        return self.rates[cores][workload]

    @property
    def between_ops(self) -> Estimate:
        """The speed of one core between ops."""
        return self.imports or self.rate(1, MATMUL)


def read_speeds(folder: Path) -> Speeds:
    """The ceilings of a folder with rows of one machine, and the speed of one of its cores."""
    rows = list(read_rows(folder))
    if len({row.machine.fingerprint for row in rows}) > 1:
        raise StoreError(f"the rows of {folder} come from several machines; ceilings must come from one machine")
    rates: dict[int, dict[str, Estimate]] = {}
    for cores, by_workload in ceiling_rates(summarize(map(launch_of, rows))).items():
        known = {name: best.rate for name, best in by_workload.items() if best.rate}
        rates[cores] = {name: rate.map(partial(mul, UNITS[name])) for name, rate in known.items()}
    if not rates:
        raise StoreError(f"{folder} has no ceilings; measure them with scaling sweep ceilings -o {folder}")
    alone = [row for row in rows if (row.run.point.workload, row.run.point.cores) == (MATMUL, 1)]
    seconds = [row.outcome.sections.imports or 0.0 for row in alone if row.outcome.status == "ok"]
    imports = [1 / value for value in seconds if value >= LEAST_IMPORT_SECONDS]
    return Speeds(str(folder), rates, location(imports) if imports else None)


def distance(here: Speeds, there: Speeds) -> float:
    """The standard deviation of the logarithms of the ratios of two machines' one-core rates: 0 if one machine is three
    times as fast in everything."""
    both = [(speeds.rate(1, MATMUL), speeds.rate(1, STREAM), speeds.between_ops) for speeds in (here, there)]
    return float(np.std([log(other.value / ours.value) for ours, other in zip(*both, strict=True)]))


@dataclass(frozen=True, slots=True)
class CeilingLaws:
    """The laws of a step's parts over the ceilings of its machine.

    Parallel and serial seconds and one-core rates are draws × parts; the first draw is the estimate.
    """

    times: PartTimes
    here: Speeds
    parallel: Floats
    serial: Floats
    one_core: Floats
    noise: Floats

    def doublings(self, threads: int) -> float:
        """The doublings of threads beyond the largest traced number."""
        return max(0.0, log2(threads / max(self.times.threads)))


def ceiling_laws(times: PartTimes, here: Speeds, size: int = DRAWS) -> CeilingLaws:
    """The laws of one subject's parts; refused without ceilings for its ops and two numbers of threads."""
    parts = dict(zip(times.names, times.means[0] / times.steps[0], strict=True))
    unbound = {name: share for name, share in parts.items() if group_of(name) == "other"}
    _refuse_ops(unbound, "the step is in ops without a known ceiling")
    traced = [count for count in times.threads if {MATMUL, STREAM} <= set(here.rates.get(count, ()))]
    if len(traced) < 2 or 1 not in here.rates:
        raise FitError(
            f"of the traced numbers of threads ({', '.join(map(str, times.threads))}), {here.name} has ceilings for "
            f"{', '.join(map(str, traced)) or 'none'}; laws need ceilings for at least two, and for one core"
        )
    times = times.only(traced)
    draws, factors = draw_means(times, size)
    means = np.concatenate([times.means[None], draws])
    one, relative = _capacities(here, times.names, times.threads, len(means), SEED)
    parallel, serial = fit_parts(times, means, relative.transpose(0, 2, 1).reshape(-1, len(times.threads)))
    return CeilingLaws(times, here, parallel, serial, one, factors * np.sqrt(np.sum(times.step_deviations**2)))


def _refuse_ops(shares: Mapping[str, float], of_what: str) -> None:
    if sum(shares.values()) >= LEAST_COVERED:
        raise FitError(f"{100 * sum(shares.values()):.0f} % of {of_what} ({', '.join(sorted(shares))})")


def _capacities(
    machine: Speeds, parts: Sequence[str], counts: Sequence[int], size: int, seed: int
) -> tuple[Floats, Floats]:
    """The rate of one core, draws × parts, and the relative capacity of counts, draws × counts × parts.

    The first draw is the estimate; the others are log-normal with the intervals of the rates.
    """
    chance = np.random.default_rng(seed)

    def draw(rate: Estimate) -> Floats:
        spread = log(rate.high / rate.low) / 2 / NORMAL_QUANTILE if rate.low and rate.high else 0.0
        return np.asarray(rate.value * np.exp(np.r_[0.0, spread * chance.standard_normal(size - 1)]))

    def one_and_relative(workload: str) -> Floats:
        one = draw(machine.rate(1, workload))
        several = [one if count == 1 else draw(machine.rate(count, workload)) for count in counts]
        return np.column_stack([one, *(np.maximum(rates / one, 1.0) for rates in several)])

    compute, memory = one_and_relative(MATMUL), one_and_relative(STREAM)
    core = np.column_stack([draw(machine.between_ops), np.tile(np.array(counts, dtype=np.float64), (size, 1))])
    all_three = np.cbrt(compute * memory * core)
    bounds = {BETWEEN_OPS: core} | dict.fromkeys(BOUND_BY_COMPUTE, compute)
    by_part = np.stack([bounds.get(group_of(part), all_three) for part in parts], axis=2)
    return by_part[:, 0], by_part[:, 1:]


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
    laws: CeilingLaws, there: Speeds, threads: int, known: Offsets | None = None, sizes: ErrorSizes = ERROR_SIZES
) -> StepPrediction:
    """Predict the step on some threads of another machine, with the known errors of its classes.

    A class has one error in each draw; the first draw is the expected one.
    """
    known, sizes, size = known or {}, sizes.at(distance(laws.here, there)), len(laws.parallel)
    one, relative = _capacities(there, laws.times.names, [threads], size, SEED + 1)
    chance = np.random.default_rng(SEED + 2)
    beyond = sizes.doubling * sqrt(laws.doublings(threads)) * chance.standard_t(sizes.freedom, size - 1)
    errors = {}
    for group in dict.fromkeys(map(group_of, laws.times.names)):
        mean, deviation = known.get(group, (0.0, sizes.pair))
        common = chance.standard_normal(size - 1) if group in known else chance.standard_t(sizes.freedom, size - 1)
        own = sizes.network * chance.standard_normal(size - 1)
        errors[group] = mean + np.r_[0.0, deviation * common + own + beyond]
    by_part = np.stack([errors[group_of(part)] for part in laws.times.names], axis=1)
    parts = (laws.parallel / relative[:, 0] + laws.serial) * laws.one_core / one * np.exp(by_part)
    return step_prediction(laws.times, threads, parts[0], parts[1:], laws.noise)


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A step measured on the other machine: its seconds and, if it was traced, its parts."""

    seconds: float
    parts: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class ElsewherePrediction:
    """A subject's step on some threads of another machine, and its measurement there, if any.

    `by_networks` is corrected by the errors of other networks there.
    """

    name: str
    laws: CeilingLaws
    by_ceilings: StepPrediction
    measured: MeasuredStep | None
    by_networks: StepPrediction | None = None

    @property
    def network(self) -> str:
        """The network without its options and mode."""
        return self.name.split()[0]

    def error(self, predicted: StepPrediction) -> float | None:
        """Predicted over measured, less 1; None without a measurement."""
        return None if self.measured is None else self._comparable(predicted).value / self.measured.seconds - 1.0

    def inside(self, predicted: StepPrediction) -> bool | None:
        """Whether the interval contains the measurement; None without one of them."""
        return None if self.measured is None else self._comparable(predicted).contains(self.measured.seconds)

    def _comparable(self, predicted: StepPrediction) -> Estimate:
        """The traced step, or the plain one if that was measured."""
        is_plain = self.measured is not None and self.measured.parts is None
        ratio = (is_plain and self.laws.times.plain_ratio) or 1.0
        return predicted.seconds.map(partial(mul, ratio))


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


def class_errors(prediction: ElsewherePrediction) -> list[ClassError]:
    """The errors by ceilings of the classes with a notable share of a traced step."""
    if prediction.measured is None or prediction.measured.parts is None:
        return []
    predicted, threads = prediction.by_ceilings.parts, prediction.by_ceilings.threads
    ours = _by_group({name: seconds.value for name, seconds in predicted.items()})
    theirs = _by_group(prediction.measured.parts)
    whole = sum(ours.values()) * sum(theirs.values())
    shares = {group: sqrt(seconds * theirs.get(group, 0.0) / whole) for group, seconds in ours.items()}
    beyond = prediction.laws.doublings(threads)
    return [
        ClassError(prediction.network, group, threads, beyond, log(theirs[group] / ours[group]), share)
        for group, share in shares.items()
        if share >= LEAST_SHARE
    ]


def _by_group(parts: Mapping[str, float]) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for name, value in parts.items():
        seconds[group_of(name)] += value
    return seconds


def mean_error(errors: Sequence[ClassError]) -> float:
    """The mean error, weighted by the class's share of each step."""
    return float(np.average([error.log_error for error in errors], weights=[error.weight for error in errors]))


def offsets(errors: Sequence[ClassError], threads: int, sizes: ErrorSizes) -> Offsets:
    """The common error of every class on some threads, from networks measured on both machines.

    Each network counts once, with its errors on the nearest number of threads. `sizes` are for the machines' distance.
    """
    apart = {error: abs(log2(error.threads / threads)) for error in errors}
    nearest = {error.network: apart[error] for error in sorted(errors, key=lambda error: -apart[error])}
    near: dict[str, dict[str, list[ClassError]]] = defaultdict(lambda: defaultdict(list))
    for error in errors:
        if apart[error] == nearest[error.network]:
            near[error.group][error.network].append(error)
    known = {}
    for group, by_network in near.items() if sizes.pair else ():
        precision, total = 1 / sizes.pair**2, 0.0
        for several in by_network.values():
            variance = sizes.network**2 + sizes.doubling**2 * (several[0].doublings + apart[several[0]])
            precision, total = precision + 1 / variance, total + mean_error(several) / variance
        known[group] = total / precision, 1 / sqrt(precision)
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
    here: Path,
    there: Path,
    measured: Sequence[Path] = (),
    sizes: Mapping[str, ErrorSizes] | None = None,
    draws: int = DRAWS,
) -> OtherMachine:
    """Predict the steps of every subject of a profile on some threads of another machine.

    The errors of networks measured there correct the predictions of the others, never their own. `sizes` replaces the
    default sizes of errors by network.
    """
    ours, theirs = read_speeds(here), read_speeds(there)
    if ours.imports is None or theirs.imports is None:
        ours, theirs = replace(ours, imports=None), replace(theirs, imports=None)
    apart, sizes = distance(ours, theirs), defaultdict(lambda: ERROR_SIZES, sizes or {})
    steps = {key: step for folder in measured for key, step in _read_steps(folder)}
    several = {profile for subject in result.scalings for profile in subject.profiles}
    alone = [name for name, profile in zip(result.names, result.profiles, strict=True) if profile not in several]
    refusals = list(map(str, result.complaints))
    refusals += [f"{name}: traced on only one number of threads, so no law can be fitted" for name in alone]
    first = []
    for subject in result.scalings:
        try:
            laws = ceiling_laws(subject.laws.times, ours, draws)
        except FitError as error:
            refusals.append(f"{subject.name}: {error}")
            continue
        for count in threads:
            try:
                step = _measured_step(subject, steps, count)
                by_ceilings = predict_elsewhere(laws, theirs, count, {}, sizes[subject.name.split()[0]])
                first.append(ElsewherePrediction(subject.name, laws, by_ceilings, step))
            except FitError as error:
                refusals.append(f"{subject.name} on {count} threads: {error}")
    errors = [error for prediction in first for error in class_errors(prediction)]
    predictions = []
    for prediction in first:
        own, count = sizes[prediction.network], prediction.by_ceilings.threads
        known = offsets([error for error in errors if error.network != prediction.network], count, own.at(apart))
        by_networks = predict_elsewhere(prediction.laws, theirs, count, known, own) if known else None
        predictions.append(replace(prediction, by_networks=by_networks))
    return OtherMachine(tuple(predictions), tuple(refusals), apart)


# Workload, mode, size and items per step, which a step must share on both machines; and threads.
StepKey = tuple[str, str, str, int, int]


def _read_steps(folder: Path) -> Iterator[tuple[StepKey, MeasuredStep]]:
    """The steps of a folder: traced ones if it has traces, otherwise plain ones."""
    if (folder / TRACES.file).exists():
        for profile in profiles_of(read_traces(folder)):
            parts = {op.type: op.seconds for op in profile.ops}
            parts |= {OVERHEAD: profile.overhead_seconds, UNEXPLAINED: profile.unexplained_seconds}
            key = _key(profile.point, profile.items_per_step, profile.threads)
            yield key, MeasuredStep(profile.wall_seconds, parts)
        return
    for summary in summarize(map(launch_of, read_rows(folder))):
        if summary.step and summary.items:
            yield _key(summary.point, summary.items, summary.point.cores), MeasuredStep(summary.step.value)


def _key(point: Point, items: int, threads: int) -> StepKey:
    return point.workload, point.mode, point.size, items, threads


def _measured_step(subject: Scaling, steps: Mapping[StepKey, MeasuredStep], threads: int) -> MeasuredStep | None:
    """The measured step of a subject; refused if its size or batch differs, or it has ops that were not profiled."""
    first = subject.profiles[0]
    key = _key(first.point, first.items_per_step, threads)
    others = dict.fromkeys(other[2:4] for other in steps if other[:2] == key[:2])
    if others and key[2:4] not in others:
        there = ", ".join(f"size {size} with {items} items" for size, items in others)
        raise FitError(f"it was profiled at size {key[2]} with {key[3]} items, but measured at {there}")
    step = steps.get(key)
    ops = {name: seconds for name, seconds in ((step and step.parts) or {}).items() if name not in NOT_OPS}
    missing = {name: ops[name] / sum(ops.values()) for name in ops if name not in subject.laws.times.names}
    _refuse_ops(missing, "its op time there is in ops that were not profiled here")
    return step
