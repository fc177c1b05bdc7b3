"""A step on another machine, from the laws of its ops on one machine and the ceilings of both. Pure.

A part of a step is bound by what its class is bound by: products and convolutions by arithmetic (the ceiling `matmul`
measures), the framework's time between ops by the speed of one core (how long importing TensorFlow takes: much Python
and loading, no vector arithmetic; `matmul` on one core where that is not known of both). All other ops move, compare,
add and allocate, and which of memory (`stream`), arithmetic and the speed of a core holds them up is not known of a
machine that has not run them: their rate is the geometric mean of the three. With a rate C(n) on n cores and
c(n) = C(n) / C(1), the law of a part on machine A is fitted over its rate in place of its threads, and on machine B the
same work meets B's:

    t_A(n) = a / c_A(n) + b            t_B(n) = (a / c_B(n) + b) · C_A(1) / C_B(1)

where a is divided by as many cores as there are and b is done by one. Between ops c(n) = n. The intervals have the
noise of the profile and of the ceilings, and the error of assuming that an op reaches the same share of its rate on
both machines (`kernel_errors`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Final, Literal

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import Estimate
from scaling.analysis.op_classes import op_class
from scaling.errors import FitError
from scaling.features.profiling.kernel_errors import (
    ERROR_SIZES,
    ClassError,
    ErrorSizes,
    Offset,
    class_errors,
    doublings,
    draw_errors,
)
from scaling.features.profiling.laws import StepPrediction, fit_parts, step_prediction
from scaling.features.profiling.profile import DRAWS, NOT_OPS, SEED, PartTimes, draw_means

Ceiling = Literal["compute", "memory"]
Bound = Literal["compute", "one core", "all three"]
COMPUTE: Final = "compute"
MEMORY: Final = "memory"
ONE_CORE: Final = "one core"
ALL_THREE: Final = "all three"
# Ops that no ceiling bounds, or that were not profiled, may take this share of a step.
LEAST_COVERED = 0.01
NORMAL = 1.96


@dataclass(frozen=True, slots=True)
class MachineSpeeds:
    """What a machine can do per second: operations and bytes by cores, and imports of one core, None if not known."""

    name: str
    rates: Mapping[int, Mapping[Ceiling, Estimate]]
    imports: Estimate | None

    def rate(self, cores: int, ceiling: Ceiling) -> Estimate:
        """A ceiling on so many cores; refused where it was not measured."""
        found = self.rates.get(cores, {}).get(ceiling)
        if found is None:
            workload = "matmul" if ceiling == COMPUTE else "stream"
            raise FitError(
                f"{self.name} has no ceiling of {workload} on {cores} cores, only on "
                f"{', '.join(str(count) for count in self.counts(ceiling)) or 'none'}; measure it with scaling sweep "
                f"ceilings --set cores={cores}"
            )
        return found

    def counts(self, ceiling: Ceiling) -> list[int]:
        """The numbers of cores whose ceiling was measured."""
        return sorted(cores for cores, rates in self.rates.items() if ceiling in rates)

    @property
    def one_core(self) -> tuple[Estimate, Estimate, Estimate]:
        """Arithmetic, memory, and the speed between ops, of one core."""
        compute = self.rate(1, COMPUTE)
        return compute, self.rate(1, MEMORY), self.imports or compute


def distance(here: MachineSpeeds, there: MachineSpeeds) -> float:
    """How differently two machines compare by their ceilings: the root mean square of the logarithms of the ratios of
    one core about their mean."""
    ratios = [log(other.value / one.value) for one, other in zip(here.one_core, there.one_core, strict=True)]
    return float(np.std(ratios))


def bound_of(part: str) -> Bound | None:
    """What bounds a part of a step by its class; None for an op of no class."""
    if part in NOT_OPS:
        return ONE_CORE
    group = op_class(part)
    if group == "other":
        return None
    return COMPUTE if group in ("matrix", "convolution") else ALL_THREE


@dataclass(frozen=True, slots=True)
class CeilingLaws:
    """The laws of a step's parts over the ceilings of the machine that took it.

    Parallel and serial seconds and the rates of one core are draws × parts, of which the first is as estimated.
    """

    times: PartTimes
    here: MachineSpeeds
    bounds: tuple[Bound, ...]
    parallel: Floats
    serial: Floats
    one_core: Floats
    noise: Floats


def ceiling_laws(times: PartTimes, here: MachineSpeeds, size: int = DRAWS) -> CeilingLaws:
    """The laws of one subject's parts; refused where ops or numbers of threads have no ceiling."""
    _refuse_unbound(times)
    traced = [count for count in times.threads if all(count in here.counts(ceiling) for ceiling in (COMPUTE, MEMORY))]
    if len(traced) < 2 or 1 not in here.rates:
        raise FitError(
            f"{here.name} has ceilings for {', '.join(map(str, traced)) or 'none'} of the traced numbers of threads "
            f"({', '.join(map(str, times.threads))}); laws need at least two, and one core"
        )
    times = times.only(traced)
    draws, factors = draw_means(times, size)
    means = np.concatenate([times.means[None], draws])
    bounds = tuple(bound_of(name) or ALL_THREE for name in times.names)
    one, relative = _capacities(here, bounds, times.threads, len(means), seed=SEED)
    parallel, serial = fit_parts(times, means, relative.transpose(0, 2, 1).reshape(-1, len(times.threads)))
    return CeilingLaws(times, here, bounds, parallel, serial, one, factors * np.sqrt(np.sum(times.step_deviations**2)))


def predict_elsewhere(
    laws: CeilingLaws,
    there: MachineSpeeds,
    threads: int,
    known: Mapping[str, Offset] | None = None,
    sizes: ErrorSizes = ERROR_SIZES,
    units: int = 1,
) -> StepPrediction:
    """Predict the step on so many threads of another machine; refused where it has no ceilings of as many.

    What is known of the errors of this pair of machines by class is taken into account.
    """
    one, relative = _capacities(there, laws.bounds, [threads], len(laws.parallel), seed=SEED + 1)
    beyond = doublings(threads, laws.times.threads)
    apart = distance(laws.here, there)
    errors = draw_errors(laws.times.names, beyond, sizes, apart, known or {}, len(laws.parallel), seed=SEED + 2)
    parts = (laws.parallel / relative[:, 0] + laws.serial) * laws.one_core / one * np.exp(errors)
    return step_prediction(laws.times, threads, parts[0], parts[1:], laws.noise / np.sqrt(units))


def of_one_kind(here: MachineSpeeds, there: MachineSpeeds) -> tuple[MachineSpeeds, MachineSpeeds]:
    """Two machines with the speed of one core measured alike, or not at all."""
    if here.imports is None or there.imports is None:
        return replace(here, imports=None), replace(there, imports=None)
    return here, there


def _capacities(
    machine: MachineSpeeds, bounds: Sequence[Bound], counts: Sequence[int], size: int, seed: int
) -> tuple[Floats, Floats]:
    """The rate of one core, draws × parts, and the capacity of counts relative to it, draws × counts × parts."""
    chance = np.random.default_rng(seed)
    compute, memory = (_relative(machine, ceiling, counts, size, chance) for ceiling in (COMPUTE, MEMORY))
    threads = np.broadcast_to(np.array(counts, dtype=np.float64), (size, len(counts)))
    core = _drawn(machine.one_core[2], size, chance), threads
    all_three = tuple(np.cbrt(compute[index] * memory[index] * core[index]) for index in (0, 1))
    by_bound = {COMPUTE: compute, ONE_CORE: core, ALL_THREE: all_three}
    one = np.stack([by_bound[bound][0] for bound in bounds], axis=1)
    return one, np.stack([by_bound[bound][1] for bound in bounds], axis=2)


def _refuse_unbound(times: PartTimes) -> None:
    """An op of no class has no ceiling."""
    unbound = [index for index, name in enumerate(times.names) if bound_of(name) is None]
    share = float(times.means[0, unbound].sum() / times.steps[0])
    if share >= LEAST_COVERED:
        names = ", ".join(times.names[index] for index in unbound)
        raise FitError(f"{100 * share:.0f} % of the step is ops that no ceiling is known to bound ({names})")


def _relative(
    machine: MachineSpeeds, ceiling: Ceiling, counts: Sequence[int], size: int, chance: np.random.Generator
) -> tuple[Floats, Floats]:
    """The rate of one core and those of some counts over it, the first row as estimated and the others drawn."""
    single = _drawn(machine.rate(1, ceiling), size, chance)
    several = [single if count == 1 else _drawn(machine.rate(count, ceiling), size, chance) for count in counts]
    return single, np.maximum(np.stack(several, axis=1) / single[:, None], 1.0)


def _drawn(rate: Estimate, size: int, chance: np.random.Generator) -> Floats:
    """The rate, then draws of it from the log-normal distribution that has its interval."""
    spread = 0.0 if not rate.low or not rate.high else log(rate.high / rate.low) / 2 / NORMAL
    drawn: Floats = rate.value * np.exp(np.r_[0.0, spread * chance.standard_normal(size - 1)])
    return drawn


def uncovered_ops(profiled: Iterable[str], shares: Mapping[str, float]) -> dict[str, float]:
    """The op types of another machine's profile, with their shares, that were not profiled here and matter there."""
    known = set(profiled)
    missing = {name: share for name, share in shares.items() if name not in known}
    return missing if sum(missing.values()) >= LEAST_COVERED else {}


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """A step that the other machine took: its seconds, and those of its parts where it was traced."""

    seconds: float
    parts: Mapping[str, float] | None

    @property
    def traced(self) -> bool:
        """Whether it was traced, and not a plain step."""
        return self.parts is not None

    @property
    def op_shares(self) -> dict[str, float]:
        """The shares of op time of its op types; none of a plain step."""
        ops = {name: seconds for name, seconds in (self.parts or {}).items() if name not in NOT_OPS}
        total = sum(ops.values())
        return {name: seconds / total for name, seconds in ops.items()}


@dataclass(frozen=True, slots=True)
class ElsewherePrediction:
    """A subject's step on so many threads of another machine, beside what was measured there, if anything was.

    `by_networks` takes into account how far off the prediction by ceilings is for other networks there.
    """

    name: str
    by_ceilings: StepPrediction
    by_networks: StepPrediction | None
    measured: MeasuredStep | None

    @property
    def threads(self) -> int:
        """The number of threads."""
        return self.by_ceilings.threads

    @property
    def best(self) -> StepPrediction:
        """The prediction that takes most into account."""
        return self.by_networks or self.by_ceilings

    def comparable(self, predicted: StepPrediction) -> Estimate:
        """What the measurement is held against: a traced step, or a plain one where those were measured."""
        plain, traced = predicted.plain_seconds, predicted.seconds
        if plain is None or self.measured is None or self.measured.traced:
            return traced
        ratio = plain / traced.value
        return traced.map(lambda seconds: seconds * ratio)

    def error(self, predicted: StepPrediction) -> float | None:
        """Predicted over measured, less one; None where nothing was measured."""
        return None if self.measured is None else self.comparable(predicted).value / self.measured.seconds - 1.0

    def inside(self, predicted: StepPrediction) -> bool | None:
        """Whether the measurement lies in the interval; None without one or the other."""
        return None if self.measured is None else self.comparable(predicted).contains(self.measured.seconds)


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """What another machine is predicted to take, why some of it is refused, and how differently the two compare."""

    predictions: tuple[ElsewherePrediction, ...]
    refusals: tuple[str, ...]
    distance: float
    errors: tuple[ClassError, ...]


def errors_of(network: str, laws: CeilingLaws, by_ceilings: StepPrediction, measured: MeasuredStep) -> list[ClassError]:
    """The errors of a prediction by class; none where the measured step was not traced."""
    predicted = {part.name: part.seconds.value for part in by_ceilings.parts}
    beyond = doublings(by_ceilings.threads, laws.times.threads)
    return class_errors(network, by_ceilings.threads, beyond, predicted, measured.parts or {})
