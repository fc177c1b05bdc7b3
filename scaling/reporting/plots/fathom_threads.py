"""Figure 6 of the Fathom paper: the time of each op type against threads, with the law of each."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.style import FAINT, INK, SMALL_POINTS, TEXT_POINTS, colour, marker
from scaling.reporting.plots.text import printable, wrapped
from scaling.reporting.words import duration, share
from scaling.results.op_evaluation import OpEvaluation, Scaling

MOST_PARTS = 5
PANEL_INCHES = (5.0, 1.85)
# Times span many powers of ten; parts below this share of a step are not drawn.
LEAST_SHARE = 0.01


def op_threads(result: OpEvaluation) -> Drawing | NotDrawn:
    """A panel a subject: its heaviest parts as marks, their laws as lines, on logarithmic axes."""
    if not result.scalings:
        return NotDrawn("no workload was traced on several numbers of threads")
    scalings = sorted(result.scalings, key=lambda each: each.threading.profiles[0].point.mode != "train")
    caption = (
        "Time a step of the parts that take the most of it on the most threads, each with Amdahl's law of its own; "
        "dotted is what perfect scaling of the whole step would be. A part whose line is flat is what more threads do "
        "not help with."
    )
    return Drawing(caption, _figure(scalings))


def heaviest(scaling: Scaling) -> list[int]:
    """The places of the parts that take the most time on the most threads."""
    seconds = scaling.laws.times.means[-1]
    ranked = sorted(range(len(seconds)), key=lambda place: -seconds[place])
    return [place for place in ranked if seconds[place] >= LEAST_SHARE * seconds.sum()][:MOST_PARTS]


def _figure(scalings: Sequence[Scaling]) -> Figure:
    columns = 1 if len(scalings) == 1 else 2
    rows = -(-len(scalings) // columns)
    width, height = PANEL_INCHES
    figure = Figure(
        figsize=(width * columns * (1.3 if columns == 1 else 1.0), 0.5 + rows * height), layout="constrained"
    )
    for place, scaling in enumerate(scalings):
        axes = figure.add_subplot(rows, columns, place + 1)
        _draw(axes, scaling)
        if place >= len(scalings) - columns:
            axes.set_xlabel("threads")
    figure.supylabel("time a step")
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0.0, 0.0, 0.985, 1.0))  # legends beside panels are measured a little too narrow
    return figure


def _draw(axes: Axes, scaling: Scaling) -> None:
    laws = scaling.laws
    threads = np.array(laws.times.threads, dtype=np.float64)
    along = np.geomspace(threads[0], threads[-1], 30)
    for rank, place in enumerate(heaviest(scaling)):
        share_of_step = laws.times.means[-1][place] / laws.times.steps[-1]
        label = f"{wrapped(laws.times.names[place], 17.0, 1)} {share(share_of_step)}"
        axes.plot(along, laws.parallel[place] / along + laws.serial[place], color=colour(rank), linewidth=1.0)
        axes.plot(
            threads,
            laws.times.means[:, place],
            linestyle="none",
            marker=marker(rank),
            markersize=4.5,
            color=colour(rank),
            label=label,
        )
    steps = laws.times.steps
    axes.plot(along, (laws.parallel.sum() / along + laws.serial.sum()), color=INK, linewidth=1.2)
    axes.plot(threads, steps, linestyle="none", marker="P", markersize=5.0, color=INK, label="whole step")
    axes.plot(along, steps[0] * threads[0] / along, color=FAINT, linewidth=1.0, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(threads)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.set_xlim(threads[0] / 1.12, threads[-1] * 1.12)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
    axes.set_title(wrapped(printable(scaling.name), 36.0, 2), fontsize=TEXT_POINTS)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=SMALL_POINTS - 0.5, handlelength=1.2)
