"""The roofline of results: what networks achieved against the ceilings of their machine."""

from collections.abc import Sequence
from pathlib import Path

from scaling.analysis.ops.roofline import RooflinePoint, StepCounts, ceilings_of, counts_key, roofline_points
from scaling.analysis.summary import summarize
from scaling.errors import StoreError
from scaling.results.rows import launch_of
from scaling.results.store import read_rows
from scaling.running.workload_counts import pass_counts
from scaling.study.catalogue import read_catalogue
from scaling.study.spec import CPU


def achieved_in(folders: Sequence[Path]) -> list[RooflinePoint]:
    """What the networks of results folders achieved, against the ceilings these folders have."""
    rows = [row for folder in folders for row in read_rows(folder)]
    machines = {row.machine.fingerprint for row in rows}
    if len(machines) > 1:
        raise StoreError(
            f"the rows of {', '.join(map(str, folders))} come from {len(machines)} machines; a ceiling holds for one, "
            "so give folders of one machine"
        )
    points = summarize(launch_of(row) for row in rows if row.run.point.device == CPU)  # a ceiling is that of the cores
    networks = [name for name, entry in read_catalogue().items() if entry.layers]
    wanted = {counts_key(one.point) for one in points if one.point.workload in networks}
    if not wanted:
        raise StoreError(f"no network was measured in {', '.join(map(str, folders))}; there are {', '.join(networks)}")
    step_counts = {}
    for size, mode in sorted({(size, mode) for _, size, mode in wanted}):
        names = sorted(name for name, *rest in wanted if rest == [size, mode])
        for name, numbers in pass_counts(names, size, mode).items():
            gmacs = numbers.pop("gmacs_per_item")
            step_counts[name, size, mode] = StepCounts(flops_per_item=2e9 * gmacs, **numbers)
    return roofline_points(points, step_counts, ceilings_of(points))
