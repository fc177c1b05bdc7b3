"""Workloads as tables and JSON facts: the catalogue, and the performance of networks against the ceilings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scaling.analysis.roofline import RooflinePoint
from scaling.reporting.quantities import ends
from scaling.reporting.words import Table, count, duration, figure, share
from scaling.study.workload import Entry


def workloads_table(entries: Iterable[Entry], counted: Mapping[str, Mapping[str, float]]) -> Table:
    """The catalogue, one line per workload, with its counts of parameters, operations and bytes."""
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
    """Items per step by size, in the paper and in Fathom, and the shape of an item by size."""
    items = _by_size(entry.items, entry) + (f", infer {entry.infer_items}" if entry.infer_items else "")
    fathom = "-" if entry.fathom_items is None else str(entry.fathom_items)
    fathom += f" of {entry.item['fathom']}" if "fathom" in entry.item else ""
    return items, str(entry.paper_items or "-"), fathom, _by_size(entry.item, entry) if entry.item else "-"


def _by_size(values: Mapping[str, Any], entry: Entry) -> str:
    return "/".join(dict.fromkeys(str(values[size]) for size in entry.sizes))


def _counts(counted: Mapping[str, float] | None) -> tuple[str, str, str]:
    if counted is None:
        return "-", "-", "-"
    weights = f"{counted['weights_bytes'] / 1e6:.1f} MB"
    return f"{counted['parameters']:,}", figure(counted["gmacs_per_item"]), weights


def model_table(points: Sequence[RooflinePoint]) -> Table:
    """One line per point: counts, step time, GFLOP/s, and the shares of peak and roof."""
    rows = [
        (
            *(roofline.point.workload, roofline.point.mode, roofline.point.size),
            *(str(roofline.point.cores), str(roofline.items)),
            f"{roofline.counts.parameters:,}",
            f"{figure(roofline.counts.weights_bytes / 1e6)} MB",
            figure(roofline.counts.flops_per_item / 1e9),
            duration(roofline.step.value),
            figure(roofline.flops_per_second.value / 1e9),
            _share(roofline.peak_share),
            figure(roofline.intensity),
            roofline.bound_by or "-",
            _share(roofline.roof_share),
            "" if roofline.valid else "disturbed or not valid",
        )
        for roofline in points
    ]
    what = ("network", "mode", "size", ">cores", ">items", ">parameters", ">weights", ">GFLOP/item", ">step")
    return Table((*what, ">GFLOP/s", ">of peak", ">FLOP/byte", "bound by", ">of roof", ""), rows)


def ceiling_sentences(points: Sequence[RooflinePoint]) -> list[str]:
    """The ceilings by number of cores, and how to measure missing ones."""
    sentences = []
    for ceilings in {roofline.ceilings.cores: roofline.ceilings for roofline in points}.values():
        known = (ceilings.flops_per_second, "GFLOP/s"), (ceilings.bytes_per_second, "GB/s")
        limits = [f"{figure(value / 1e9)} {unit}" for value, unit in known if value]
        if limits:
            ridge = f", which meet at {figure(ceilings.ridge)} FLOP/byte" if ceilings.ridge else ""
            doubt = f"; disturbed or not valid: {', '.join(ceilings.doubtful)}" if ceilings.doubtful else ""
            sentences.append(f"ceilings on {count(ceilings.cores, 'core')}: {' and '.join(limits)}{ridge}{doubt}")
    if any(roofline.ceilings.ridge is None for roofline in points):
        sentences.append(
            "some core counts lack a ceiling; measure it with `scaling sweep ceilings` and pass those results too"
        )
    return sentences


def model_facts(roofline: RooflinePoint) -> dict[str, Any]:
    """A network and its ceilings for JSON, unrounded."""
    return {
        **{name: getattr(roofline.point, name) for name in ("workload", "mode", "size", "cores", "smt", "placement")},
        "items_per_step": roofline.items,
        "parameters": roofline.counts.parameters,
        "weights_bytes": roofline.counts.weights_bytes,
        "gflops_per_item": roofline.counts.flops_per_item / 1e9,
        "step_seconds": roofline.step.value,
        **ends("gflops_per_second", roofline.flops_per_second.map(lambda rate: rate / 1e9)),
        "peak_gflops_per_second": _billions(roofline.ceilings.flops_per_second),
        "memory_gigabytes_per_second": _billions(roofline.ceilings.bytes_per_second),
        "doubtful_ceilings": list(roofline.ceilings.doubtful),
        "share_of_peak": roofline.peak_share,
        "flops_per_byte": roofline.intensity,
        "bound_by": roofline.bound_by,
        "share_of_roof": roofline.roof_share,
        "valid": roofline.valid,
    }


def _share(ratio: float | None) -> str:
    return "-" if ratio is None else share(ratio)


def _billions(value: float | None) -> float | None:
    return None if value is None else value / 1e9
