"""The tables of docs/reproductions/minsky.md: sections beside Table 2 of the Minsky study, and efficiency over cores.

python -m benchmarks.minsky docs/examples/minsky-sixteen [FOLDER of `scaling sweep minsky_sections`]
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import scaling
from benchmarks.shared.tables import markdown
from scaling.results.evaluation import PointSections

# INIT, SETUP and RUN over WALL, on twenty POWER8 cores (Guignard et al., HICSS 2018, Table 2); speech was left out.
TABLE_2 = {
    "alexnet": (0.0392, 0.0335, 0.8651),
    "autoenc": (0.0583, 0.0416, 0.2961),
    "deepq": (0.1629, 0.0574, 0.5859),
    "memnet": (0.2583, 0.0884, 0.1252),
    "residual": (0.0179, 0.0088, 0.9635),
    "seq2seq": (0.6159, 0.1848, 0.1742),
    "vgg": (0.0226, 0.0222, 0.9288),
}
# RUN on the P100, over the wall time on the CPU.
GPU_RUN = {"alexnet": 0.2880, "residual": 0.0428, "vgg": 0.0976}
# 10^9 floating-point operations of a training step of Fathom's networks: three times the forward multiply-adds.
STEP_GFLOP = {"alexnet": 6 * 45.9, "residual": 6 * 259.6, "vgg": 6 * 109.0}
# How many steps Fathom's own programs take.
STEPS, LONGER = 10, {"memnet": 100, "deepq": 100}
# How many the study says it measured, warm-up included.
MANY_STEPS = 210
# What interpreter and imports take, about.
IMPORT_SECONDS = 2.0


def shares_with(point: PointSections, steps: int) -> tuple[float, float, float]:
    """INIT, SETUP and RUN of a process that takes so many steps, over its wall time."""
    seconds = {name: spread.median for name, spread in point.seconds.items()}
    run = seconds["run"] * steps / point.steps
    wall = seconds["wall"] - seconds["run"] + run
    return seconds["init"] / wall, seconds["setup"] / wall, run / wall


def beside_table_2(points: Sequence[PointSections]) -> list[str]:
    """The study's shares of wall time and the measured ones."""
    rows = []
    for point in points:
        name = point.point.workload
        ours, theirs = shares_with(point, LONGER.get(name, STEPS)), TABLE_2.get(name)
        pairs = zip((*theirs, 1.0 - sum(theirs)) if theirs else [None] * 4, (*ours, 1.0 - sum(ours)), strict=True)
        many = shares_with(point, MANY_STEPS)[2]
        rows.append((name, *(_pair(*pair) for pair in pairs), f"{many:.3f}", f"{point.seconds['wall'].median:.1f} s"))
    return markdown(("network", "INIT", "SETUP", "RUN", "rest", f"RUN of {MANY_STEPS} steps", "wall"), rows)


def _pair(theirs: float | None, ours: float) -> str:
    return f"{'–' if theirs is None else f'{theirs:.3f}'} → {ours:.3f}"


def implied() -> list[str]:
    """What Table 2 means in seconds and in operations per second, if imports take as long for every network."""
    rows = []
    for name, (init, setup, run) in TABLE_2.items():
        wall = IMPORT_SECONDS / (1.0 - init - setup - run)
        operations = STEPS * STEP_GFLOP[name] if name in STEP_GFLOP else None
        speed = "" if operations is None else f"{operations / (run * wall):.0f}"
        gpu = "" if operations is None else f"{operations / (GPU_RUN[name] * wall) / 1000:.1f}"
        steps = LONGER.get(name, STEPS)
        rows.append((name, f"{wall:.1f} s", f"{run * wall:.2f} s", f"{1000 * run * wall / steps:.4g} ms", speed, gpu))
    return markdown(("network", "WALL", "RUN", "step", "GFLOP/s, CPU", "TFLOP/s, GPU"), rows)


def efficiency(results: scaling.Results) -> list[str]:
    """Parallel efficiency by cores, the networks in the order of what they keep on the most."""
    table = results.points.pivot_table(index="cores", columns="workload", values="efficiency")
    order = table.iloc[-1].sort_values(ascending=False).index
    rows = [(str(cores), *(f"{100 * line[name]:.0f} %" for name in order)) for cores, line in table.iterrows()]
    return markdown(("cores", *order), rows[1:])


def main(cores: Path, sections: Path | None = None) -> None:
    """Print all tables that there are rows for."""
    print_all("Efficiency over cores", efficiency(scaling.load(cores)))
    print_all("Table 2 in seconds", implied())
    if sections is not None:
        print_all("Sections", beside_table_2(scaling.load(sections).sources[0].sections.points))


def print_all(title: str, lines: Iterable[str]) -> None:
    """A table below its title."""
    print(f"### {title}\n", *lines, "", sep="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
