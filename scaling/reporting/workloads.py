"""Workloads as tables and JSON facts: what can be measured, and what networks achieve of what a machine can do."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scaling.analysis.roofline import RooflinePoint
from scaling.reporting.words import Table, count, duration, figure, share
from scaling.study.workload import Entry


def workloads_table(entries: Iterable[Entry], counted: Mapping[str, Mapping[str, float]]) -> Table:
    """What can be measured, a line a workload, with what was counted on it."""
    rows = []
    for entry in entries:
        options = " ".join(f"{name}={value}" for name, value in entry.options.items())
        rows.append(
            (
                *(entry.name, entry.paper, "-" if entry.layers is None else str(entry.layers)),
                *_counts(counted.get(entry.name)),
                *_batches(entry),
                *(", ".join(entry.modes), ", ".join(entry.sizes), options, entry.about),
            )
        )
    counts = (">layers", ">parameters", ">GMAC/item", ">weights")
    batches = (">items", ">in the paper", ">in Fathom", "an item")
    return Table(("workload", "paper", *counts, *batches, "modes", "sizes", "options", "what it is"), rows)


def _batches(entry: Entry) -> tuple[str, str, str, str]:
    """Items of a step by size, in the paper and in Fathom, and the shape of one by size."""
    items = _by_size(entry.items, entry) + (f", infer {entry.infer_items}" if entry.infer_items else "")
    fathom = "-" if entry.fathom_items is None else str(entry.fathom_items)
    fathom += f" of {entry.item['fathom']}" if "fathom" in entry.item else ""
    return items, str(entry.paper_items or "-"), fathom, _by_size(entry.item, entry) if entry.item else "-"


def _by_size(values: Mapping[str, Any], entry: Entry) -> str:
    """A value for each size, or the one they share."""
    return "/".join(dict.fromkeys(str(values[size]) for size in entry.sizes))


def _counts(counted: Mapping[str, float] | None) -> tuple[str, str, str]:
    if counted is None:
        return "-", "-", "-"
    weights = f"{counted['weights_bytes'] / 1e6:.1f} MB"
    return f"{counted['parameters']:,}", f"{counted['gmacs_per_item']:.3g}", weights


def model_table(points: Sequence[RooflinePoint]) -> Table:
    """A line a point: parameters, weights, GFLOPs an item, GFLOP/s, share of peak, intensity, share of roof."""
    rows = [
        (
            *(
                roofline.point.workload,
                roofline.point.mode,
                roofline.point.size,
                str(roofline.point.cores),
                str(roofline.items),
            ),
            f"{roofline.counts.parameters:,}",
            f"{roofline.counts.weights_bytes / 1e6:.3g} MB",
            f"{roofline.counts.flops_per_item / 1e9:.3g}",
            duration(roofline.step.value),
            figure(roofline.flops_per_second.value / 1e9),
            _share(roofline.peak_share),
            f"{roofline.intensity:.3g}",
            roofline.bound_by or "-",
            _share(roofline.roof_share),
            "" if roofline.valid else "disturbed or not valid",
        )
        for roofline in points
    ]
    what = ("network", "mode", "size", ">cores", ">items", ">parameters", ">weights", ">GFLOP/item", ">step")
    return Table((*what, ">GFLOP/s", ">of peak", ">FLOP/byte", "bound by", ">of roof", ""), rows)


def ceiling_sentences(points: Sequence[RooflinePoint]) -> list[str]:
    """The ceilings of each number of cores, in a sentence, or what to do where they were not measured."""
    sentences = []
    for ceilings in {roofline.ceilings.cores: roofline.ceilings for roofline in points}.values():
        limits = []
        if ceilings.flops_per_second:
            limits.append(f"{ceilings.flops_per_second / 1e9:.3g} GFLOP/s")
        if ceilings.bytes_per_second:
            limits.append(f"{ceilings.bytes_per_second / 1e9:.3g} GB/s")
        if limits:
            ridge = f", which meet at {ceilings.ridge:.3g} FLOP/byte" if ceilings.ridge else ""
            doubt = f"; disturbed or not valid: {', '.join(ceilings.doubtful)}" if ceilings.doubtful else ""
            sentences.append(f"ceilings on {count(ceilings.cores, 'core')}: {' and '.join(limits)}{ridge}{doubt}")
    if any(roofline.ceilings.ridge is None for roofline in points):
        sentences.append(
            "not all core counts have both ceilings; `scaling sweep ceilings` measures them, and its folder can be "
            "given as well"
        )
    return sentences


def model_facts(roofline: RooflinePoint) -> dict[str, Any]:
    """The same as JSON facts, unrounded."""
    rate = roofline.flops_per_second
    return {
        "workload": roofline.point.workload,
        "mode": roofline.point.mode,
        "size": roofline.point.size,
        "cores": roofline.point.cores,
        "smt": roofline.point.smt,
        "placement": roofline.point.placement,
        "items_per_step": roofline.items,
        "parameters": roofline.counts.parameters,
        "weights_bytes": roofline.counts.weights_bytes,
        "gflops_per_item": roofline.counts.flops_per_item / 1e9,
        "step_seconds": roofline.step.value,
        "gflops_per_second": rate.value / 1e9,
        "gflops_per_second_low": None if rate.low is None else rate.low / 1e9,
        "gflops_per_second_high": None if rate.high is None else rate.high / 1e9,
        "peak_gflops_per_second": _in_units(roofline.ceilings.flops_per_second, 1e9),
        "memory_gigabytes_per_second": _in_units(roofline.ceilings.bytes_per_second, 1e9),
        "doubtful_ceilings": list(roofline.ceilings.doubtful),
        "share_of_peak": roofline.peak_share,
        "flops_per_byte": roofline.intensity,
        "bound_by": roofline.bound_by,
        "share_of_roof": roofline.roof_share,
        "valid": roofline.valid,
    }


def _share(ratio: float | None) -> str:
    return "-" if ratio is None else share(ratio)


def _in_units(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit
