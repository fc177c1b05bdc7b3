"""A step on another machine, from the laws of its ops on one machine and the ceilings of both. Pure.

A part of a step is bound by what its class is bound by: products and convolutions by arithmetic (the ceiling `matmul`
measures), all other ops by memory (`stream`), and the framework's time between ops by the speed of one core; so are ops
whose executions are so short that what they move stays in a cache. With a ceiling C(n) on n cores and
c(n) = C(n) / C(1), the law of a part on machine A is fitted over its ceiling in place of its threads, and on machine B
the same work meets B's ceiling:

    t_A(n) = a / c_A(n) + b            t_B(n) = (a / c_B(n) + b) · C_A(1) / C_B(1)

where a is divided by as many cores as there are and b is done by one. Between ops c(n) = n, and the speed of one core
is how long importing TensorFlow takes: much Python and loading, and no vector arithmetic (`matmul` on one core where
that is not known of both). The intervals have the noise
of the profile and of the ceilings; that an op reaches the same share of its ceiling on both machines is assumed, and
only a measurement on B tells how far it holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Final, Literal

import numpy as np

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.launch_effects import Floats
from scaling.analysis.ops.classes import CLASSES, OpClass, op_class
from scaling.analysis.ops.laws import StepPrediction, fit_parts, step_prediction
from scaling.analysis.ops.profile import DRAWS, NOT_OPS, SEED, PartTimes, draw_means
from scaling.errors import FitError

Bound = Literal["compute", "memory", "one core"]
COMPUTE: Final = "compute"
MEMORY: Final = "memory"
ONE_CORE: Final = "one core"
BOUND_OF_CLASS: dict[OpClass, Bound] = {
    name: COMPUTE if name in ("matrix", "convolution") else MEMORY for name in CLASSES if name != "other"
}
# Ops that no ceiling bounds, or that were not profiled, may take this share of a step.
LEAST_COVERED = 0.01
NORMAL = 1.96
# Ops that move less than this in an execution do so within the cache of a core.
CACHE_BYTES = 2 * 2**20


@dataclass(frozen=True, slots=True)
class MachineSpeeds:
    """What a machine can do per second: operations and bytes by cores, and imports of one core, None if not known."""

    name: str
    rates: Mapping[int, Mapping[Bound, Estimate]]
    one_core: Estimate | None

    def rate(self, cores: int, bound: Bound) -> Estimate:
        """The ceiling of a bound on so many cores; refused where it was not measured."""
        found = self.rates.get(cores, {}).get(bound)
        if found is None:
            workload = "matmul" if bound == COMPUTE else "stream"
            raise FitError(
                f"{self.name} has no ceiling of {workload} on {cores} cores, only on "
                f"{', '.join(str(count) for count in self.counts(bound)) or 'none'}; measure it with scaling sweep "
                f"ceilings --set cores={cores}"
            )
        return found

    def counts(self, bound: Bound) -> list[int]:
        """The numbers of cores whose ceiling was measured."""
        return sorted(cores for cores, rates in self.rates.items() if bound in rates)


def bound_of(part: str) -> Bound | None:
    """What bounds a part of a step by its class; None for an op of no class."""
    return ONE_CORE if part in NOT_OPS else BOUND_OF_CLASS.get(op_class(part))


def _bounds(times: PartTimes, here: MachineSpeeds, executions: Mapping[str, float]) -> tuple[Bound, ...]:
    """What bounds each part, by its class and by what it can have moved in an execution on the fewest threads."""
    bandwidth = here.rate(times.threads[0], MEMORY).value
    bounds: list[Bound] = []
    for name, seconds in zip(times.names, times.means[0], strict=True):
        bound = bound_of(name) or MEMORY
        in_cache = seconds / executions.get(name, 1.0) * bandwidth < CACHE_BYTES
        bounds.append(ONE_CORE if bound == MEMORY and in_cache else bound)
    return tuple(bounds)


@dataclass(frozen=True, slots=True)
class CeilingLaws:
    """The laws of a step's parts over the ceilings of the machine that took it.

    Parallel and serial seconds and the rates of one core are draws × parts, of which the first is as estimated.
    """

    times: PartTimes
    bounds: tuple[Bound, ...]
    parallel: Floats
    serial: Floats
    one_core: Floats
    noise: Floats


def ceiling_laws(
    times: PartTimes, here: MachineSpeeds, executions: Mapping[str, float], size: int = DRAWS
) -> CeilingLaws:
    """The laws of one subject's parts, of which ops have so many executions per step; refused where ops or numbers of
    threads have no ceiling."""
    _refuse_unbound(times)
    traced = [count for count in times.threads if all(count in here.counts(bound) for bound in (COMPUTE, MEMORY))]
    if len(traced) < 2 or 1 not in here.rates:
        raise FitError(
            f"{here.name} has ceilings for {', '.join(map(str, traced)) or 'none'} of the traced numbers of threads "
            f"({', '.join(map(str, times.threads))}); laws need at least two, and one core"
        )
    times = times.only(traced)
    draws, factors = draw_means(times, size)
    means = np.concatenate([times.means[None], draws])
    bounds = _bounds(times, here, executions)
    one, relative = _capacities(here, bounds, times.threads, len(means), seed=SEED)
    parallel, serial = fit_parts(times, means, relative.transpose(0, 2, 1).reshape(-1, len(times.threads)))
    return CeilingLaws(times, bounds, parallel, serial, one, factors * np.sqrt(np.sum(times.step_deviations**2)))


def predict_elsewhere(laws: CeilingLaws, there: MachineSpeeds, threads: int, units: int = 1) -> StepPrediction:
    """Predict the step on so many threads of another machine; refused where it has no ceilings of as many."""
    one, relative = _capacities(there, laws.bounds, [threads], len(laws.parallel), seed=SEED + 1)
    parts = (laws.parallel / relative[:, 0] + laws.serial) * laws.one_core / one
    return step_prediction(laws.times, threads, parts[0], parts[1:], laws.noise / np.sqrt(units))


def of_one_kind(here: MachineSpeeds, there: MachineSpeeds) -> tuple[MachineSpeeds, MachineSpeeds]:
    """Two machines with the speed of one core measured alike, or not at all."""
    if here.one_core is None or there.one_core is None:
        return replace(here, one_core=None), replace(there, one_core=None)
    return here, there


def _capacities(
    machine: MachineSpeeds, bounds: Sequence[Bound], counts: Sequence[int], size: int, seed: int
) -> tuple[Floats, Floats]:
    """The rate of one core, draws × parts, and the capacity of counts relative to it, draws × counts × parts."""
    chance = np.random.default_rng(seed)
    one, by_count = np.empty((size, len(bounds))), np.empty((size, len(counts), len(bounds)))
    for bound in dict.fromkeys(bounds):
        columns = [index for index, other in enumerate(bounds) if other == bound]
        single, several = _relative(machine, bound, counts, size, chance)
        one[:, columns], by_count[:, :, columns] = single[:, None], several[:, :, None]
    return one, by_count


def _refuse_unbound(times: PartTimes) -> None:
    """An op of no class has no ceiling."""
    unbound = [index for index, name in enumerate(times.names) if bound_of(name) is None]
    share = float(times.means[0, unbound].sum() / times.steps[0])
    if share >= LEAST_COVERED:
        names = ", ".join(times.names[index] for index in unbound)
        raise FitError(f"{100 * share:.0f} % of the step is ops that no ceiling is known to bound ({names})")


def _relative(
    machine: MachineSpeeds, bound: Bound, counts: Sequence[int], size: int, chance: np.random.Generator
) -> tuple[Floats, Floats]:
    """The rate of one core and those of some counts over it, the first row as estimated and the others drawn."""
    if bound == ONE_CORE:
        speed = machine.one_core or machine.rate(1, COMPUTE)
        return _drawn(speed, size, chance), np.broadcast_to(np.array(counts, dtype=np.float64), (size, len(counts)))
    single = _drawn(machine.rate(1, bound), size, chance)
    several = [single if count == 1 else _drawn(machine.rate(count, bound), size, chance) for count in counts]
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
    """A step that the other machine took: its seconds, whether it was traced, and the shares of its ops if so."""

    seconds: float
    traced: bool
    op_shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ElsewherePrediction:
    """A subject's step on so many threads of another machine, beside what was measured there, if anything was."""

    name: str
    predicted: StepPrediction
    measured: MeasuredStep | None

    @property
    def threads(self) -> int:
        """The number of threads."""
        return self.predicted.threads

    @property
    def seconds(self) -> Estimate:
        """What the measurement is held against: a traced step, or a plain one where those were measured."""
        plain, traced = self.predicted.plain_seconds, self.predicted.seconds
        if plain is None or self.measured is None or self.measured.traced:
            return traced
        ratio = plain / traced.value
        return traced.map(lambda seconds: seconds * ratio)

    @property
    def error(self) -> float | None:
        """Predicted over measured, less one; None where nothing was measured."""
        return None if self.measured is None else self.seconds.value / self.measured.seconds - 1.0

    @property
    def inside(self) -> bool | None:
        """Whether the measurement lies in the interval; None without one or the other."""
        return None if self.measured is None else self.seconds.contains(self.measured.seconds)


@dataclass(frozen=True, slots=True)
class OtherMachine:
    """What another machine is predicted to take, and why some of it is refused."""

    predictions: tuple[ElsewherePrediction, ...]
    refusals: tuple[str, ...]
