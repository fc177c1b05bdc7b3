"""Workloads as tables and JSON facts: what can be measured, and what networks achieve of what a machine can do."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scaling.analysis.ops.roofline import RooflinePoint
from scaling.reporting.words import Table, count, duration, figure, share
from scaling.study.workload import Entry


def workloads_table(entries: Iterable[Entry], counted: Mapping[str, Mapping[str, float]]) -> Table:
    """What can be measured, a line a workload, with what was counted on it."""
    rows = []
    for entry in entries:
        items = "/".join(str(entry.items[size]) for size in entry.sizes)
        options = " ".join(f"{name}={value}" for name, value in entry.options.items())
        rows.append(
            (
                *(entry.name, entry.paper, "-" if entry.layers is None else str(entry.layers)),
                *_counts(counted.get(entry.name)),
                *(items, ", ".join(entry.modes), ", ".join(entry.sizes), options, entry.about),
            )
        )
    counts = (">layers", ">parameters", ">GMAC/item", ">weights", ">items")
    return Table(("workload", "paper", *counts, "modes", "sizes", "options", "what it is"), rows)


def _counts(counted: Mapping[str, float] | None) -> tuple[str, str, str]:
    if counted is None:
        return "-", "-", "-"
    weights = f"{counted['weights_bytes'] / 1e6:.1f} MB"
    return f"{counted['parameters']:,}", f"{counted['gmacs_per_item']:.3g}", weights


def model_table(points: Sequence[RooflinePoint]) -> Table:
    """A line a point: parameters, weights, GFLOPs an item, GFLOP/s, share of peak, intensity, share of roof."""
    rows = [
        (
            *(each.point.workload, each.point.mode, each.point.size, str(each.point.cores), str(each.items)),
            f"{each.counts.parameters:,}",
            f"{each.counts.weights_bytes / 1e6:.3g} MB",
            f"{each.counts.flops_per_item / 1e9:.3g}",
            duration(each.step.value),
            figure(each.flops_per_second.value / 1e9),
            _share(each.peak_share),
            f"{each.intensity:.3g}",
            each.bound_by or "-",
            _share(each.roof_share),
            "" if each.valid else "not valid",
        )
        for each in points
    ]
    what = ("network", "mode", "size", ">cores", ">items", ">parameters", ">weights", ">GFLOP/item", ">step")
    return Table((*what, ">GFLOP/s", ">of peak", ">FLOP/byte", "bound by", ">of roof", ""), rows)


def ceiling_sentences(points: Sequence[RooflinePoint]) -> list[str]:
    """The ceilings of each number of cores, in a sentence, or what to do where they were not measured."""
    sentences = []
    for ceilings in {each.ceilings.cores: each.ceilings for each in points}.values():
        told = []
        if ceilings.flops_per_second:
            told.append(f"{ceilings.flops_per_second / 1e9:.3g} GFLOP/s")
        if ceilings.bytes_per_second:
            told.append(f"{ceilings.bytes_per_second / 1e9:.3g} GB/s")
        if told:
            ridge = f", which meet at {ceilings.ridge:.3g} FLOP/byte" if ceilings.ridge else ""
            doubt = f"; not valid: {', '.join(ceilings.doubtful)}" if ceilings.doubtful else ""
            sentences.append(f"ceilings on {count(ceilings.cores, 'core')}: {' and '.join(told)}{ridge}{doubt}")
    if any(each.ceilings.ridge is None for each in points):
        sentences.append(
            "not all core counts have both ceilings; `scaling sweep ceilings` measures them, and its folder can be "
            "given as well"
        )
    return sentences


def model_facts(each: RooflinePoint) -> dict[str, Any]:
    """The same as JSON facts, unrounded."""
    rate = each.flops_per_second
    return {
        "workload": each.point.workload,
        "mode": each.point.mode,
        "size": each.point.size,
        "cores": each.point.cores,
        "smt": each.point.smt,
        "placement": each.point.placement,
        "items_per_step": each.items,
        "parameters": each.counts.parameters,
        "weights_bytes": each.counts.weights_bytes,
        "gflops_per_item": each.counts.flops_per_item / 1e9,
        "step_seconds": each.step.value,
        "gflops_per_second": rate.value / 1e9,
        "gflops_per_second_low": None if rate.low is None else rate.low / 1e9,
        "gflops_per_second_high": None if rate.high is None else rate.high / 1e9,
        "peak_gflops_per_second": _in_units(each.ceilings.flops_per_second, 1e9),
        "memory_gigabytes_per_second": _in_units(each.ceilings.bytes_per_second, 1e9),
        "doubtful_ceilings": list(each.ceilings.doubtful),
        "share_of_peak": each.peak_share,
        "flops_per_byte": each.intensity,
        "bound_by": each.bound_by,
        "share_of_roof": each.roof_share,
        "valid": each.valid,
    }


def _share(ratio: float | None) -> str:
    return "-" if ratio is None else share(ratio)


def _in_units(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit
