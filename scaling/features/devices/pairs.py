"""Workloads that were measured both on the CPU alone and on a GPU. Pure.

The relative execution time is a ratio of step times, with the interval of both over launches.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.summary import Summary
from scaling.study.planning import Point
from scaling.study.spec import CPU, GPU


@dataclass(frozen=True, slots=True)
class DevicePair:
    """The same step on the CPU alone, with the most measured cores, and on a GPU with its fastest host cores.

    `relative` is the time on the GPU over the time on the CPU.
    """

    cpu: Summary
    gpu: Summary
    relative: Estimate

    @property
    def gain(self) -> Estimate:
        """How many times faster the GPU is."""
        return self.relative.map(lambda ratio: 1 / ratio)


def device_pairs(summaries: Iterable[Summary]) -> list[DevicePair]:
    """A pair for every workload with valid points on both devices, whatever the host cores."""
    by_settings: dict[Point, dict[str, list[Summary]]] = {}
    for summary in summaries:
        if summary.step is not None and summary.valid and summary.point.in_series:
            settings = replace(summary.point, device="", cores=1, placement="")
            by_settings.setdefault(settings, {}).setdefault(summary.point.device, []).append(summary)
    return [_pair(devices[CPU], devices[GPU]) for devices in by_settings.values() if devices.keys() >= {CPU, GPU}]


def _pair(on_cpu: Sequence[Summary], on_gpu: Sequence[Summary]) -> DevicePair:
    cpu, gpu = max(on_cpu, key=lambda one: one.point.cores), min(on_gpu, key=_seconds)
    return DevicePair(cpu, gpu, estimates.ratio(gpu.launches, cpu.launches))


def _seconds(summary: Summary) -> float:
    assert summary.step is not None
    return summary.step.value


@dataclass(frozen=True, slots=True)
class RelativeExecution:
    """The time of a step over training on the CPU alone in the same framework; without training, over the same mode."""

    summary: Summary
    ratio: Estimate


def relative_executions(pairs: Sequence[DevicePair]) -> list[RelativeExecution]:
    """The relative execution times of every mode and device (Adolf et al., IISWC 2016, Fig. 5)."""
    training = {_without_mode(pair): pair.cpu for pair in pairs if pair.cpu.point.mode == "train"}
    return [
        RelativeExecution(one, Estimate(1.0) if one is base else estimates.ratio(one.launches, base.launches))
        for pair in pairs
        for base in (training.get(_without_mode(pair), pair.cpu),)
        for one in (pair.cpu, pair.gpu)
    ]


def _without_mode(pair: DevicePair) -> Point:
    return replace(pair.cpu.point, mode="", cores=1)
