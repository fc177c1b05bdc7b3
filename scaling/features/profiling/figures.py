"""Figures of traced runs: op time by step, cumulative shares, shares by op type, and similar workloads.

Figures 1 to 4 of Adolf, Rama, Reagen, Wei and Brooks, "Fathom: reference workloads for modern deep learning methods",
IISWC 2016, for any workload.
"""

from collections.abc import Sequence
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.ticker import MaxNLocator

from scaling.analysis.arrays import Floats
from scaling.analysis.traces import CLASS_NAMES, CLASSES
from scaling.features.profiling.evaluation import Merge, OpEvaluation
from scaling.features.profiling.pairs import MOST, Stationarity, cumulative_shares, notable, types_for
from scaling.features.profiling.profile import Profile
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.figure import Figure
from scaling.reporting.plots.layout import SINGLE_WIDTH_INCHES, make_grid, number_axis, reference
from scaling.reporting.plots.style import DARK, INK, LIGHT, SMALL_POINTS, colour, marker, on_one_line, wrap
from scaling.reporting.words import count, share

# The axis of op time in percent of the median reaches at least and at most this far; longer steps are at its edge.
LEAST_PERCENT, MOST_PERCENT = 120.0, 200.0


def op_steps(result: OpEvaluation) -> Drawing | NotDrawn:
    """Draw a panel per workload with the steps of one launch."""
    chosen = _launch_per_workload(result)
    if not chosen:
        return NotDrawn("no trace has the three steps needed for a trend")
    caption = (
        "Op time of every traced step, as a percentage of the median step of its launch. If the times are stationary, "
        "a few steps are enough for a profile. Spread is the coefficient of variation; a drift is shown if the "
        "Mann–Kendall test finds a trend."
    )
    return Drawing(caption, _steps_figure(chosen))


def _launch_per_workload(result: OpEvaluation) -> list[Stationarity]:
    """One launch per workload: training first, then the most steps, then the fewest threads."""
    best: dict[str, Stationarity] = {}

    def rank(launch: Stationarity) -> tuple[bool, int, int]:
        return launch.trace.point.mode != "train", -len(launch.step_seconds), launch.trace.threads

    for launch in sorted(result.stationarity, key=rank):
        if len(launch.step_seconds) >= 3:
            best.setdefault(launch.trace.point.workload, launch)
    return list(best.values())


def _steps_figure(chosen: Sequence[Stationarity]) -> Figure:
    grid = make_grid(len(chosen))
    for index, launch in enumerate(chosen):
        axes, middle = grid.axes[index], median(launch.step_seconds)
        percents = [min(100.0 * seconds / middle, MOST_PERCENT) for seconds in launch.step_seconds]
        look: dict[str, Any] = {"linestyle": "none", "marker": marker(0), "markersize": 3.0, "color": colour(0)}
        axes.plot(range(1, len(percents) + 1), percents, **look)
        reference(axes, 100.0)
        grid.title(index, _launch_name(launch), _stationarity_remark(launch))
    highest = max(max(launch.step_seconds) / median(launch.step_seconds) for launch in chosen)
    grid.axes[0].set_ylim(0.0, 1.04 * min(max(100.0 * highest, LEAST_PERCENT), MOST_PERCENT))
    number_axis(grid.axes[0])
    for axes in grid.axes:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    grid.labels("step", "op time of a step, % of the median")
    return grid.figure


def _launch_name(launch: Stationarity) -> str:
    return f"{launch.trace.point.workload} {launch.trace.point.mode}, {count(launch.trace.threads, 'thread')}"


def _stationarity_remark(launch: Stationarity) -> str:
    drift = "" if launch.stationary is not False or launch.drift is None else f", drift {100 * launch.drift:+.0f} %"
    unknown = ", too few steps for a trend" if launch.stationary is None else ""
    return f"spread {share(launch.coefficient_of_variation)}{drift}{unknown}"


MOST_TYPES = 25


def op_tail(result: OpEvaluation) -> Drawing | NotDrawn:
    """Draw the cumulative share of op types, a curve per comparable workload."""
    if not result.alike:
        return NotDrawn("no run was traced")
    caption = (
        f"Share of op time that the heaviest op types make up together ({_alike_words(result)}). The number in "
        f"brackets is how many types make up {100 * MOST:.0f} %."
    )
    return Drawing(caption, _tail_figure(result.alike))


def _alike_words(result: OpEvaluation) -> str:
    """The mode, size and threads of all comparable profiles."""
    first = result.alike[0]
    return f"{first.point.mode}, {first.point.size} size, {count(first.threads, 'thread')}"


def _tail_figure(profiles: Sequence[Profile]) -> Figure:
    grid = make_grid(1)
    axes = grid.axes[0]
    most = max(min(MOST_TYPES, len(profile.ops)) for profile in profiles)
    for index, profile in enumerate(profiles):
        percents = [100.0 * reached for reached in cumulative_shares(profile)][:most]
        label = f"{profile.point.workload} ({types_for(profile)})"
        look: dict[str, Any] = {"marker": marker(index), "markersize": 4.0, "linewidth": 0.9, "color": colour(index)}
        axes.plot(range(1, len(percents) + 1), percents, label=label, **look)
    reference(axes, 100.0 * MOST)
    axes.set_xlim(0.5, most + 0.5)
    axes.set_ylim(0.0, 102.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    number_axis(axes)
    grid.labels("op types, the heaviest first", "share of op time, %")
    grid.legend(axes.lines[: len(profiles)])
    return grid.figure


LEAF_INCHES = 0.33


def op_similarity(result: OpEvaluation) -> Drawing | NotDrawn:
    """Draw a tree of the workloads by centroid linkage of the cosine distance between their shares of op types."""
    merges = result.merges("centroid")
    if not merges:
        return NotDrawn(
            "a comparison needs two workloads traced in the same mode and size, on the same number of threads"
        )
    caption = (
        "Cosine distance between the op-type shares of workloads, by centroid linkage. Workloads that join far to the "
        f"left spend similar proportions of time in the same ops; at 1 they share no op. ({_alike_words(result)}.)"
    )
    return Drawing(caption, _tree_figure(merges))


def _tree_figure(merges: Sequence[Merge]) -> Figure:
    # In this order no two branches cross.
    order = merges[-1].left + merges[-1].right
    figure = Figure(figsize=(SINGLE_WIDTH_INCHES, 0.9 + LEAF_INCHES * len(order)), layout="constrained")
    axes = figure.add_subplot()
    positions: dict[tuple[str, ...], tuple[float, float]] = {
        (name,): (0.0, float(row)) for row, name in enumerate(order)
    }
    widest = max(max(merge.distance for merge in merges), 1e-3)
    lower = {merge.right for merge in merges}
    for merge in merges:
        (left_x, left_y), (right_x, right_y) = positions[merge.left], positions[merge.right]
        axes.plot(
            [left_x, merge.distance, merge.distance, right_x],
            [left_y, left_y, right_y, right_y],
            color=colour(0),
            linewidth=1.4,
            solid_joinstyle="miter",
        )
        joined, middle = merge.left + merge.right, (left_y + right_y) / 2.0
        # The next join may be closer than the width of a label: its branch goes up from a lower group and down from an
        # upper one, so the label is on the other side.
        axes.annotate(
            f"{merge.distance:.3f}",
            (merge.distance, middle),
            xytext=(3, -2.5 if joined in lower else 1),
            textcoords="offset points",
            va="top" if joined in lower else "bottom",
            ha="left",
            fontsize=SMALL_POINTS - 0.5,
        )
        positions[joined] = (merge.distance, middle)
    axes.set_yticks(range(len(order)), [wrap(name, 22.0, 2) for name in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.14 * widest)
    axes.grid(False)
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0.0)
    axes.set_xlabel("cosine distance at which they join")
    return figure


ROW_INCHES, COLUMN_INCHES = 0.17, 0.62
# Smaller shares, in percent, are not printed.
LEAST_PRINTED = 0.5
TINTS = 20
# Numbers are light in cells above this percentage.
DARK_FROM = 55.0


def op_shares(result: OpEvaluation) -> Drawing | NotDrawn:
    """Draw op types of at least one percent in any workload against workloads."""
    if not result.alike:
        return NotDrawn("no run was traced")
    caption = (
        f"Percentage of op time ({_alike_words(result)}) of op types with at least 1 % in any workload, by the seven "
        "classes of the Fathom paper. Different names of the same op are summed."
    )
    # Similar workloads are side by side.
    order = [name for merge in result.merges("centroid")[-1:] for name in merge.left + merge.right]
    profiles = sorted(result.alike, key=lambda profile: order.index(profile.point.workload) if order else 0)
    return Drawing(caption, _shares_figure(profiles))


def _shares_figure(profiles: Sequence[Profile]) -> Figure:
    classes = {op.type: op.op_class for profile in profiles for op in notable(profile)}
    types = sorted(classes, key=lambda name: (CLASSES.index(classes[name]), name))
    percents: Floats = np.array([[100.0 * profile.share(name) for profile in profiles] for name in types])
    words = np.array([[f"{value:.0f}" if value >= LEAST_PRINTED else "" for value in row] for row in percents])
    figure = Figure(figsize=(3.9 + COLUMN_INCHES * len(profiles), 1.1 + ROW_INCHES * len(types)), layout="constrained")
    axes = figure.add_subplot()
    import seaborn  # only heat maps need it, and it takes a second to import

    seaborn.heatmap(
        percents,
        ax=axes,
        vmin=0.0,
        vmax=100.0,
        cmap=colormaps["Blues"].resampled(TINTS),
        cbar=False,
        annot=words,
        fmt="",
        annot_kws={"fontsize": SMALL_POINTS - 0.5},
        linewidths=0.4,
        linecolor="#d9d9d9",
        xticklabels=[wrap(profile.point.workload, 8.0) for profile in profiles],
        yticklabels=[on_one_line(name) for name in types],
    )
    for (row, column), text in zip(np.ndindex(percents.shape), axes.texts, strict=True):
        text.set_color(LIGHT if percents[row, column] > DARK_FROM else DARK)  # not ink: cells stay light on a dark page
    axes.grid(False)
    axes.tick_params(length=0.0, labelrotation=0.0)
    axes.xaxis.tick_top()
    row = 0
    for op_class, members in groupby(types, key=lambda name: classes[name]):
        rows = len(list(members))
        if row:
            axes.axhline(row, color=INK, linewidth=0.9)
        axes.text(
            len(profiles) + 0.12,
            row + rows / 2.0,
            wrap(CLASS_NAMES[op_class], 14.0) if rows > 1 else CLASS_NAMES[op_class],
            va="center",
            ha="left",
            fontsize=SMALL_POINTS,
        )
        row += rows
    return figure
