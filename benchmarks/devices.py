"""The tables of docs/frameworks.md on devices, from folders of rows on the CPU alone and on a GPU.

python -m benchmarks.devices results/devices-cpu results/devices-gpu results/gpu-cores
"""

import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean

from benchmarks.fathom import markdown
from scaling.analysis.devices import DevicePair, device_pairs, rank_correlation
from scaling.analysis.ops.device_profile import DeviceProfile
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import summarize
from scaling.reporting.words import duration, figure, share, with_interval
from scaling.results.rows import Row, launch_of
from scaling.results.store import read_rows
from scaling.study.planning import Point
from scaling.study.spec import CPU, GPU


def relative_execution(pairs: Sequence[DevicePair]) -> list[str]:
    """Fathom's Fig. 5 and the Minsky study's Fig. 3: a step on both devices, and the GPU's relative to the CPU's."""
    rows = [
        (
            *_names(pair.cpu.point),
            f"{duration(pair.cpu.step.value)} on {pair.cpu.point.cores}",
            f"{duration(pair.gpu.step.value)} on {pair.gpu.point.cores}",
            with_interval(pair.relative, share),
            figure(pair.gain.value),
        )
        for pair in sorted(pairs, key=lambda pair: _names(pair.cpu.point))
        if pair.cpu.step and pair.gpu.step
    ]
    return markdown(("network", "mode", "framework", "CPU, cores", "GPU, host cores", "relative", "times faster"), rows)


def device_profiles(rows: Iterable[Row]) -> list[str]:
    """The Minsky study's Table 1: what a step has the device do, and what the host spends in calls of the driver."""
    by_point: dict[Point, list[DeviceProfile]] = {}
    for row in rows:
        if row.outcome.device_profile is not None:
            by_point.setdefault(row.run.point, []).append(row.outcome.device_profile)
    lines = [
        (
            *_names(point),
            duration(fmean(one.kernel_seconds for one in profiles)),
            share(fmean(one.copy_share for one in profiles)),
            share(fmean(one.idle_share for one in profiles)),
            f"{fmean(one.kernels for one in profiles):.0f}",
            duration(fmean(one.api_seconds for one in profiles)),
            ", ".join(f"{call.name} ({call.calls:.3g} ×, {duration(call.seconds)})" for call in profiles[0].calls[:3]),
        )
        for point, profiles in sorted(
            by_point.items(), key=lambda item: (*_names(item[0]), item[0].data, item[0].cores)
        )
    ]
    headers = (
        "network",
        "mode",
        "framework",
        "kernels",
        "copies",
        "idle",
        "kernels per step",
        "API calls",
        "longest calls",
    )
    return markdown(headers, lines)


def sections(rows: Iterable[Row]) -> list[str]:
    """The Minsky study's Table 2: where the seconds of a process go, mean over its launches, on both devices."""
    by_point: dict[Point, list[Row]] = {}
    for row in rows:
        if row.outcome.status == "ok":
            by_point.setdefault(row.run.point, []).append(row)
    most = {(*_names(point), point.device): point.cores for point in sorted(by_point, key=lambda point: point.cores)}
    lines = [
        (
            *_names(point),
            point.device,
            *(_mean_section(own, name) for name in ("imports", "init", "setup", "first_step")),
        )
        for point, own in sorted(by_point.items(), key=lambda item: (*_names(item[0]), item[0].device))
        if point.cores == most[*_names(point), point.device] and point.data == "fixed"
    ]
    return markdown(("network", "mode", "framework", "device", "import", "init", "setup", "first step"), lines)


def correlation(points: Sequence[ScalingPoint], pairs: Sequence[DevicePair]) -> list[str]:
    """Whether networks that use cores well gain more from a GPU, by framework and mode."""
    efficiency = {
        one.summary.point: one.efficiency.value
        for one in points
        if one.efficiency is not None and one.summary.point.device == CPU
    }
    lines = []
    for framework, mode in sorted({(pair.cpu.point.framework, pair.cpu.point.mode) for pair in pairs}):
        own = [
            pair
            for pair in pairs
            if (pair.cpu.point.framework, pair.cpu.point.mode) == (framework, mode) and pair.cpu.point in efficiency
        ]
        found = rank_correlation([efficiency[pair.cpu.point] for pair in own], [pair.gain.value for pair in own])
        lines.append(
            (framework, mode, str(len(own)), with_interval(found, lambda value: f"{value:.2f}") if found else "too few")
        )
    return markdown(("framework", "mode", "networks", "rank correlation of CPU efficiency with GPU gain"), lines)


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
    return markdown(("network", "mode", "framework", "data", *(f"{cores} cores" for cores in counts)), lines)


def _mean_section(rows: Sequence[Row], name: str) -> str:
    known = [value for row in rows if (value := getattr(row.outcome.sections, name)) is not None]
    return duration(fmean(known)) if known else ""


def _names(point: Point) -> tuple[str, str, str]:
    return point.workload, point.mode, point.framework


def main() -> None:
    """Print all tables that the folders have rows for."""
    rows = list(chain.from_iterable(read_rows(Path(folder)) for folder in sys.argv[1:]))
    points = list(speedups(summarize(map(launch_of, rows))))
    pairs = device_pairs(point.summary for point in points)
    tables = {
        "Steps on the CPU alone and on the GPU": relative_execution(pairs),
        "What a step has the GPU do": device_profiles(rows),
        "Sections of a process": sections(rows),
        "CPU efficiency and GPU gain": correlation(points, pairs),
        "Host cores that a GPU needs": host_cores(points),
    }
    for title, lines in tables.items():
        if len(lines) > 2:
            print(f"\n### {title}\n", *lines, sep="\n")


if __name__ == "__main__":
    main()
