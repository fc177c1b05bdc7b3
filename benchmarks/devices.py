"""The tables of docs/reproductions/frameworks.md on devices, from folders of rows on the CPU alone and on a GPU.

python -m benchmarks.devices results/devices results/gpu-cores results/minsky

Rows of one folder are never pooled with those of another, which may have been made otherwise or on another day: a table
is of one folder, or says of which.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.minsky import LONGER, STEPS
from benchmarks.shared.tables import markdown
from scaling.analysis import estimates
from scaling.analysis.estimates import Estimate
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import Summary, summarize
from scaling.features.devices.report import DevicePair, device_pairs, pairs_table, profiles_table
from scaling.reporting.words import Table, duration, with_interval
from scaling.results.rows import Row, launch_of, launch_seconds
from scaling.results.store import read_rows
from scaling.study.axes import CPU, GPU
from scaling.study.planning import Point

Floats = NDArray[np.float64]

# Fewer have no interval worth a ratio.
LEAST_LAUNCHES = 3
# Draws of the bootstrap; fewer workloads than this have no order worth a correlation.
DRAWS, LEAST_WORKLOADS = 4000, 4


@dataclass(frozen=True, slots=True)
class Folder:
    """What one folder has measured."""

    name: str
    rows: Sequence[Row]
    points: Sequence[ScalingPoint]

    @property
    def pairs(self) -> list[DevicePair]:
        """What it has measured on both devices."""
        return device_pairs(point.summary for point in self.points)


def folder_of(name: str, rows: Iterable[Row]) -> Folder:
    """Rows as those of a folder."""
    rows = list(rows)
    return Folder(name, rows, list(speedups(summarize(map(launch_of, rows)))))


def table_lines(table: Table) -> list[str]:
    """A table in Markdown."""
    return markdown(tuple(header.removeprefix(">") for header in table.headers), table.rows)


def sections(rows: Iterable[Row]) -> list[str]:
    """The Minsky study's Table 2 and Fig. 3: INIT, SETUP and RUN on both devices, over all three on the CPU alone.

    RUN has as many steps as Fathom's programs take. Interpreter and imports, which forked processes have from a server,
    are left out; INIT and SETUP are those of the first launch, as a later one may find what that has compiled.
    """
    by_point: dict[Point, list[Row]] = {}
    for row in rows:
        if row.outcome.status == "ok" and row.run.point.data == "fixed" and launch_seconds(row) is not None:
            by_point.setdefault(row.run.point, []).append(row)
    most = {
        (*_names(point), point.size, point.device): point for point in sorted(by_point, key=lambda point: point.cores)
    }
    lines = []
    for key, point in sorted(most.items()):
        other = most.get((*key[:-1], CPU))
        if other is None or (*key[:-1], GPU) not in most:
            continue
        parts, whole = _parts(by_point[point]), sum(_parts(by_point[other]))
        shares = (f"{part / whole:.4f}" for part in (*parts, sum(parts)))
        where, steps = f"{point.device}, {point.cores}", LONGER.get(point.workload, STEPS)
        lines.append((*_names(point), where, *shares, duration(sum(parts)), str(steps)))
    headers = (
        "network",
        "mode",
        "framework",
        "device, cores",
        "INIT",
        "SETUP",
        "RUN",
        "all",
        "seconds",
        "steps of RUN",
    )
    return markdown(headers, lines)


def _parts(rows: Sequence[Row]) -> tuple[float, float, float]:
    """INIT and SETUP of the first launch, and RUN of as many steps as Fathom's programs take."""
    first = min(rows, key=lambda row: row.run.launch)
    step = median(seconds for row in rows if (seconds := launch_seconds(row)) is not None)
    init, setup = first.outcome.sections.init or 0.0, first.outcome.sections.setup or 0.0
    return init, setup, step * LONGER.get(first.run.point.workload, STEPS)


def frameworks_on_gpu(folders: Iterable[Folder]) -> list[str]:
    """The step of torch over JAX's jitted step on the same GPU with as many host cores, with the interval of both.

    Either is from the first folder that has it.
    """
    by_point: dict[Point, dict[str, tuple[str, Summary]]] = {}
    for folder in folders:
        for one in (point.summary for point in folder.points):
            if one.point.device == GPU and one.valid and one.launches:
                alike = by_point.setdefault(replace(one.point, framework=""), {})
                alike.setdefault(one.point.framework, (folder.name, one))
    lines = [
        (*(point.workload, point.mode, point.data, str(point.cores)), *_torch_over_jax(own["torch"], own["jax"]))
        for point, own in sorted(by_point.items(), key=lambda one: (*_names(one[0]), one[0].data, one[0].cores))
        if own.keys() >= {"torch", "jax"}
    ]
    what = ("network", "mode", "data", "host cores")
    return markdown((*what, "torch", "JAX", "torch over JAX", "launches", "rows of"), lines)


def _torch_over_jax(*both: tuple[str, Summary]) -> tuple[str, ...]:
    torch, jax = (summary for _, summary in both)
    return (
        _step(torch),
        _step(jax),
        with_interval(estimates.ratio(torch.launches, jax.launches), "{:.2f}".format),
        f"{len(torch.launches)} and {len(jax.launches)}",
        " and ".join(dict.fromkeys(name for name, _ in both)),
    )


def gpu_over_fastest_cpu(folders: Iterable[Folder]) -> list[str]:
    """The fastest framework on the CPU, whatever its cores, over the fastest on the GPU, under the loosest cap.

    Either has at least three launches; the folders may be of different days.
    """
    measured: dict[tuple[str, str, str], dict[str, list[Summary]]] = {}
    for one in (point.summary for folder in folders for point in folder.points):
        if one.valid and one.step is not None and len(one.launches) >= LEAST_LAUNCHES and one.point.data == "fixed":
            own = measured.setdefault((one.point.workload, one.point.mode, one.point.size), {})
            own.setdefault(one.point.device, []).append(one)
    lines = []
    for names, own in sorted(measured.items()):
        if own.keys() >= {CPU, GPU}:
            cpu, gpu = min(own[CPU], key=_seconds), min(_under_the_loosest_cap(own[GPU]), key=_seconds)
            faster = with_interval(estimates.ratio(cpu.launches, gpu.launches), "{:.1f}".format)
            on_cpu, on_gpu = (f"{one.point.framework}, {_step(one)} on {one.point.cores}" for one in (cpu, gpu))
            lines.append((*names[:2], on_cpu, on_gpu, faster, f"{len(cpu.launches)} and {len(gpu.launches)}"))
    return markdown(
        ("network", "mode", "fastest on the CPU, cores", "GPU, host cores", "times faster", "launches"), lines
    )


def _under_the_loosest_cap(summaries: Sequence[Summary]) -> list[Summary]:
    watts = [one.point.gpu_power_watts or inf for one in summaries]
    return [one for one, cap in zip(summaries, watts, strict=True) if cap == max(watts)]


def _seconds(summary: Summary) -> float:
    assert summary.step is not None
    return summary.step.value


def _step(summary: Summary) -> str:
    return "-" if summary.step is None else duration(summary.step.value)


def correlation(gains: Folder, efficiencies: Folder) -> list[str]:
    """Whether networks that use cores well gain more from a GPU, by framework and mode.

    Efficiency is that of the same size on the same cores or, where it was not measured, of another size on the most.
    """
    known = [one for one in efficiencies.points if one.efficiency is not None and _counts_as_efficiency(one.summary)]
    lines = []
    for framework, mode in sorted({(pair.cpu.point.framework, pair.cpu.point.mode) for pair in gains.pairs}):
        own = [pair for pair in gains.pairs if (pair.cpu.point.framework, pair.cpu.point.mode) == (framework, mode)]
        used = [(one, pair.gain.value) for pair in own if (one := _efficiency(pair.cpu.point, known)) is not None]
        found = rank_correlation(
            [one.efficiency.value for one, _ in used if one.efficiency], [gain for _, gain in used]
        )
        sizes = ", ".join(sorted({f"{one.summary.point.size}, {one.summary.point.cores} cores" for one, _ in used}))
        if used:
            value = with_interval(found, "{:.2f}".format) if found else "too few"
            lines.append((framework, mode, str(len(used)), sizes, value))
    headers = ("framework", "mode", "networks", "efficiency of", "rank correlation of CPU efficiency with GPU gain")
    return markdown(headers, lines)


def rank_correlation(one: Sequence[float], other: Sequence[float], seed: int = 1) -> Estimate | None:
    """Spearman's rank correlation (1904), with the percentile interval of a bootstrap over workloads (Efron 1979).

    None with fewer than four values, or if all are equal.
    """
    if len(one) < LEAST_WORKLOADS:
        return None
    drawn = np.random.default_rng(seed).integers(len(one), size=(DRAWS, len(one)))
    samples = [np.array(one, dtype=float)[drawn], np.array(other, dtype=float)[drawn]]
    (value,), coefficients = _spearman(np.array([one]), np.array([other])), _spearman(*samples)
    if np.isnan(value):
        return None
    return Estimate(float(value), *map(float, np.nanquantile(coefficients, (0.025, 0.975))))


def _spearman(ones: Floats, others: Floats) -> Floats:
    """Pearson's coefficient of the ranks, row by row; NaN for a row of equal values."""
    first, second = (rankdata(values, axis=1) - (values.shape[1] + 1) / 2 for values in (ones, others))
    with np.errstate(invalid="ignore"):
        products = (first * second).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    return np.asarray(products)


def _counts_as_efficiency(summary: Summary) -> bool:
    point = summary.point
    return point.device == CPU and point.cores > 1 and point.data == "fixed" and point.in_series


def _efficiency(point: Point, known: Sequence[ScalingPoint]) -> ScalingPoint | None:
    alike = [one for one in known if _names(one.summary.point) == _names(point)]
    same_size = [one for one in alike if (one.summary.point.size, one.summary.point.cores) == (point.size, point.cores)]
    return max(same_size or alike, key=lambda one: one.summary.point.cores, default=None)


def host_cores(points: Iterable[ScalingPoint]) -> list[str]:
    """How long a step on the GPU takes over host cores, by what feeds it."""
    fed: dict[tuple[str, str, str, str], dict[int, str]] = {}
    for one in points:
        point, step = one.summary.point, one.summary.step
        if point.device == GPU and step is not None:
            fed.setdefault((*_names(point), point.data), {})[point.cores] = with_interval(step, duration)
    several = {names: steps for names, steps in fed.items() if len(steps) > 1}
    counts = sorted({cores for steps in several.values() for cores in steps})
    lines = [(*names, *(steps.get(cores, "") for cores in counts)) for names, steps in sorted(several.items())]
    columns = (f"{cores} core{'s' if cores > 1 else ''}" for cores in counts)
    return markdown(("network", "mode", "framework", "data", *columns), lines)


def _names(point: Point) -> tuple[str, str, str]:
    return point.workload, point.mode, point.framework


OF_A_FOLDER: dict[str, Callable[[Folder], list[str]]] = {
    "Steps on the CPU alone and on the GPU (Fathom's Fig. 5, the Minsky study's Fig. 3)": lambda folder: table_lines(
        pairs_table(folder.pairs)
    ),
    "Work of the GPU in a step (the Minsky study's Table 1)": lambda folder: table_lines(profiles_table(folder.rows)),
    "Sections relative to the CPU alone (the Minsky study's Table 2)": lambda folder: sections(folder.rows),
    "Host cores that a GPU needs": lambda folder: host_cores(folder.points),
}


def main() -> None:
    """Print all tables that the folders have rows for."""
    folders = [folder_of(Path(name).name, read_rows(Path(name))) for name in sys.argv[1:]]
    for title, lines_of in OF_A_FOLDER.items():
        for folder in folders:
            _print(f"{title}: {folder.name}", lines_of(folder))
    _print("torch and JAX on the GPU", frameworks_on_gpu(folders))
    _print("The GPU compared with the fastest on the CPU", gpu_over_fastest_cpu(folders))
    for gains, efficiencies in product(folders, repeat=2):
        title = f"Efficiency on the CPU ({efficiencies.name}) and gain by the GPU ({gains.name})"
        _print(title, correlation(gains, efficiencies))


def _print(title: str, lines: Sequence[str]) -> None:
    if len(lines) > 2:
        print(f"\n### {title}\n", *lines, sep="\n")


if __name__ == "__main__":
    main()
