"""What a GPU does for workloads that were measured on the CPU alone too. Pure.

Execution relative to the CPU is a ratio of step times, with the interval of both over launches. Whether workloads that
use cores well gain more is Spearman's rank correlation (Spearman 1904), with the percentile interval of a bootstrap
over workloads (Efron 1979).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Summary
from scaling.study.planning import Point
from scaling.study.spec import CPU, GPU

DRAWS = 4000
# Fewer workloads have hardly an order.
LEAST_WORKLOADS = 4


@dataclass(frozen=True, slots=True)
class DevicePair:
    """The same steps on the CPU alone, on the most cores of those measured, and on a GPU with its fastest host cores.

    `relative` is the time on the GPU over that on the CPU.
    """

    cpu: Summary
    gpu: Summary
    relative: Estimate

    @property
    def gain(self) -> Estimate:
        """How many times faster the GPU is."""
        return self.relative.map(lambda ratio: 1 / ratio)


def device_pairs(summaries: Iterable[Summary]) -> list[DevicePair]:
    """Everything that was measured on both devices, whatever the host cores; what was not valid is left out."""
    by_settings: dict[Point, dict[str, list[Summary]]] = {}
    for summary in summaries:
        if summary.step is not None and summary.valid and summary.point.in_series:
            alike = replace(summary.point, device="", cores=1, placement="")
            by_settings.setdefault(alike, {}).setdefault(summary.point.device, []).append(summary)
    return [_pair(devices[CPU], devices[GPU]) for devices in by_settings.values() if devices.keys() >= {CPU, GPU}]


def _pair(on_cpu: Sequence[Summary], on_gpu: Sequence[Summary]) -> DevicePair:
    cpu, gpu = max(on_cpu, key=lambda one: one.point.cores), min(on_gpu, key=_seconds)
    return DevicePair(cpu, gpu, estimates.ratio(gpu.launches, cpu.launches))


@dataclass(frozen=True, slots=True)
class RelativeExecution:
    """A step over that of training on the CPU alone under the same framework, or of the same mode where there is no
    training."""

    summary: Summary
    ratio: Estimate


def relative_executions(pairs: Sequence[DevicePair]) -> list[RelativeExecution]:
    """Every mode and device of what was measured on both devices: Adolf et al., IISWC 2016, Fig. 5."""
    training = {_without_mode(pair): pair.cpu for pair in pairs if pair.cpu.point.mode == "train"}
    found = []
    for pair in pairs:
        base = training.get(_without_mode(pair), pair.cpu)
        found += [
            RelativeExecution(one, Estimate(1.0) if one is base else estimates.ratio(one.launches, base.launches))
            for one in (pair.cpu, pair.gpu)
        ]
    return found


def _without_mode(pair: DevicePair) -> Point:
    return replace(pair.cpu.point, mode="", cores=1)


def _seconds(summary: Summary) -> float:
    assert summary.step is not None
    return summary.step.value


def rank_correlation(one: Sequence[float], other: Sequence[float], seed: int = 1) -> Estimate | None:
    """Spearman's coefficient of two sequences; None where there are too few values, or all are equal."""
    if len(one) < LEAST_WORKLOADS:
        return None
    values = np.array([one, other], dtype=float)
    drawn = np.random.default_rng(seed).integers(len(one), size=(DRAWS, len(one)))
    coefficients = [value for sample in drawn if (value := _spearman(values[:, sample])) is not None]
    value = _spearman(values)
    if value is None:
        return None
    low, high = np.quantile(coefficients, (0.025, 0.975))
    return Estimate(value, float(low), float(high))


def _spearman(values: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> float | None:
    """Pearson's coefficient of the ranks, equal values with their mean rank."""
    first, second = map(_ranks, values)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[index], dtype=float)
