"""Figure 3 of the Fathom paper: the share of op time of every op type that matters, class by class."""

from itertools import groupby

import numpy as np
import seaborn
from matplotlib import colormaps
from matplotlib.figure import Figure

from scaling.analysis.fits.observations import Floats
from scaling.analysis.operations import notable
from scaling.analysis.ops.classes import CLASS_NAMES, CLASSES
from scaling.analysis.ops.profile import Profile
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.fathom_similarity import leaves
from scaling.reporting.plots.style import DARK, INK, LIGHT, SMALL_POINTS
from scaling.reporting.plots.text import printable, wrapped
from scaling.reporting.words import count
from scaling.results.op_evaluation import OpEvaluation

ROW_INCHES, COLUMN_INCHES = 0.17, 0.62
# A share below this is no number worth printing.
LEAST_PRINTED = 0.5
TINTS = 20
# From this percent on cells are so dark that their numbers are light.
DARK_FROM = 55.0


def op_shares(result: OpEvaluation) -> Drawing | NotDrawn:
    """Op types of at least a percent in any workload against workloads, of one mode, size and number of threads."""
    if not result.alike:
        return NotDrawn("no run was traced")
    first = result.alike[0]
    caption = (
        f"Percent of op time ({first.point.mode}, {first.point.size} size, "
        f"{count(first.threads, 'thread')}), for op types of at least 1 % in any workload, by the seven classes of the "
        "Fathom paper; names that mean the same op are summed."
    )
    return Drawing(caption, _figure(result))


def _neighbours(result: OpEvaluation) -> list[Profile]:
    """The workloads in an order in which those that are alike stand together."""
    joined = result.merges("centroid")
    order = leaves(joined) if joined else ()
    return sorted(result.alike, key=lambda each: order.index(each.point.workload) if order else 0)


def _figure(result: OpEvaluation) -> Figure:
    profiles = _neighbours(result)
    kinds = {op.type: op.op_class for each in profiles for op in notable(each)}
    types = sorted(kinds, key=lambda name: (CLASSES.index(kinds[name]), name))
    percents: Floats = np.array([[100.0 * each.share(name) for each in profiles] for name in types])
    words = np.array([[f"{value:.0f}" if value >= LEAST_PRINTED else "" for value in row] for row in percents])
    figure = Figure(figsize=(3.9 + COLUMN_INCHES * len(profiles), 1.1 + ROW_INCHES * len(types)), layout="constrained")
    axes = figure.add_subplot()
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
        xticklabels=[wrapped(each.point.workload, 8.0) for each in profiles],
        yticklabels=[printable(name) for name in types],
    )
    for (row, column), text in zip(np.ndindex(percents.shape), axes.texts, strict=True):
        text.set_color(LIGHT if percents[row, column] > DARK_FROM else DARK)  # not ink: cells stay light on a dark page
    axes.grid(False)
    axes.tick_params(length=0.0, labelrotation=0.0)
    axes.xaxis.tick_top()
    row = 0
    for kind, members in groupby(types, key=lambda name: kinds[name]):
        rows = len(list(members))
        if row:
            axes.axhline(row, color=INK, linewidth=0.9)
        axes.text(
            len(profiles) + 0.12,
            row + rows / 2.0,
            wrapped(CLASS_NAMES[kind], 14.0) if rows > 1 else CLASS_NAMES[kind],
            va="center",
            ha="left",
            fontsize=SMALL_POINTS,
        )
        row += rows
    return figure
