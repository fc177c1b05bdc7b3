"""Rooflines: the rates of networks against the ceilings of their machine."""

from collections.abc import Iterable, Sequence, Set
from contextlib import suppress
from math import inf
from pathlib import Path

from scaling.analysis.roofline import (
    AllCounts,
    Ceilings,
    RooflinePoint,
    Rooflines,
    StepCounts,
    ceilings_of,
    counts_key,
    roofline_points,
)
from scaling.analysis.summary import Summary, summarize
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import read_rows
from scaling.running.workload_counts import pass_counts
from scaling.study.axes import CPU
from scaling.study.catalogue import read_catalogue


def achieved_in(folders: Sequence[Path]) -> list[RooflinePoint]:
    """The networks in results folders against the ceilings in the same folders."""
    rows = [row for folder in folders for row in read_rows(folder)]
    machines = {row.machine.fingerprint for row in rows}
    if len(machines) > 1:
        raise StoreError(
            f"{', '.join(map(str, folders))} come from {len(machines)} machines; pass folders of one machine"
        )
    points = summarize(launch_of(row) for row in rows if row.run.point.device == CPU)  # ceilings are measured on cores
    networks = _networks()
    if not any(one.point.workload in networks for one in points):
        raise StoreError(
            f"no network was measured in {', '.join(map(str, folders))}; measure one of {', '.join(networks)}"
        )
    return roofline_points(points, _count_steps(points), ceilings_of(points))


def rooflines(points: Sequence[Summary], machines: Set[str], ceilings: str) -> Rooflines:
    """The networks among points against ceilings.

    `ceilings` is a folder of `scaling sweep ceilings` on the same machine, for points on its cores, or 'GFLOP/s,GB/s'.
    """
    stated = _stated_ceilings(ceilings)
    if stated is None:
        folder = Path(ceilings)
        if not folder.is_dir():
            raise StoreError(
                f"ceilings '{ceilings}' are neither a folder nor two numbers; pass results of `scaling sweep "
                "ceilings`, or GFLOP/s,GB/s such as 2000,90"
            )
        rows = list(read_rows(folder))
        if {row.machine.fingerprint for row in rows} - machines:
            raise StoreError(
                f"the ceilings in {folder} and the results come from different machines; measure the ceilings on the "
                "machine of the results"
            )
        by_cores = ceilings_of(summarize(launch_of(row) for row in rows))
        points = [one for one in points if one.point.device == CPU]
    else:
        by_cores = {one.point.cores: stated for one in points}
    return {one.point: one for one in roofline_points(points, _count_steps(points), by_cores)}


def _stated_ceilings(text: str) -> Ceilings | None:
    parts = text.split(",")
    with suppress(ValueError):
        values = [float(part) for part in parts]
        if len(values) == 2 and all(0 < value < inf for value in values):
            return Ceilings(0, 1e9 * values[0], 1e9 * values[1])
    return None


def _networks() -> list[str]:
    return [name for name, entry in read_catalogue().items() if entry.layers]


def _count_steps(points: Iterable[Summary]) -> AllCounts:
    networks = _networks()
    wanted = {counts_key(one.point) for one in points if one.point.workload in networks}
    step_counts = {}
    for size, mode in sorted({(size, mode) for _, size, mode in wanted}):
        names = sorted(name for name, *rest in wanted if rest == [size, mode])
        for name, numbers in pass_counts(names, size, mode).items():
            gmacs = numbers.pop("gmacs_per_item")
            step_counts[name, size, mode] = StepCounts(flops_per_item=2e9 * gmacs, **numbers)
    return step_counts
