"""Limits of traced runs: op classes in training and inference, ops by thread count, and losses of efficiency.

Figures 5 and 6 of Adolf, Rama, Reagen, Wei and Brooks, "Fathom", IISWC 2016, for any workload. Each op class has the
same colour in every figure, and its name inside if there is room, for grey print.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from scaling.analysis.traces import CLASS_NAMES, CLASSES, op_class
from scaling.features.profiling.evaluation import OpEvaluation, Scaling
from scaling.features.profiling.laws import Loss
from scaling.features.profiling.pairs import ModePair
from scaling.features.profiling.profile import NOT_OPS, OVERHEAD, UNEXPLAINED, Profile
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.figure import Figure
from scaling.reporting.plots.style import (
    DARK,
    FAINT,
    INK,
    LIGHT,
    PALETTE,
    SMALL_POINTS,
    TEXT_POINTS,
    colour,
    ems,
    marker,
    on_one_line,
    wrap,
)
from scaling.reporting.words import count, duration, share

# Classes in the order of the paper, then the parts outside ops.
PARTS: tuple[str, ...] = (*CLASSES, *NOT_OPS)
CLASS_COLOURS: dict[str, str] = dict(
    zip(PARTS, (PALETTE[index] for index in (0, 1, 2, 3, 4, 8, 9, 5, 7, 6)), strict=True)
)
BETWEEN = "#ffffff"
# The approximate width of an em of small text in percent of a bar.
PERCENT_PER_EM = 1.35


def segment(axes: Axes, middle: float, left: float, width: float, part: str, label: str, whole: float = 100.0) -> None:
    """Draw a piece of a horizontal bar in the colour of its part, with a label if it fits on axes of length `whole`."""
    axes.barh(middle, width, 0.8, left, color=CLASS_COLOURS[part], edgecolor=BETWEEN, linewidth=0.5)
    if ems(label) * PERCENT_PER_EM * whole / 100.0 <= width:
        axes.text(
            left + width / 2.0,
            middle,
            label,
            ha="center",
            va="center",
            fontsize=SMALL_POINTS - 1.0,
            color=_readable_on(CLASS_COLOURS[part]),
        )


def _finish_bars(figure: Figure, shown: set[str]) -> Figure:
    """Remove the grid, and add a legend of the parts that are shown."""
    axes = figure.axes[0]
    axes.grid(False)
    axes.tick_params(axis="y", length=0.0)
    labels = zip(PARTS, (*CLASS_NAMES.values(), *NOT_OPS), strict=True)
    keys = [Patch(facecolor=CLASS_COLOURS[name], label=label) for name, label in labels if name in shown]
    figure.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 5))
    return figure


def _readable_on(tint: str) -> str:
    """Dark or light ink, for contrast with a fill."""
    red, green, blue = to_rgb(tint)
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else LIGHT


MODE_BAR_INCHES = 0.24


def op_modes(result: OpEvaluation) -> Drawing | NotDrawn:
    """Draw bars for training and inference of every workload, on the fewest threads that both were traced on."""
    by_name: dict[str, ModePair] = {}
    for pair in sorted(result.pairs, key=lambda pair: pair.train.threads):
        by_name.setdefault(f"{pair.train.point.workload} {pair.train.point.size}", pair)
    pairs = list(by_name.values())
    if not pairs:
        return NotDrawn("no workload was traced in training and in inference on the same number of threads")
    caption = (
        "Time per item in training and inference, as a percentage of the training time, by op class "
        f"({count(pairs[0].train.threads, 'thread')}). The time itself is at the end of each bar."
    )
    return Drawing(caption, _modes_figure(pairs))


def class_percents(profile: Profile, whole_seconds: float) -> dict[str, float]:
    """The parts of an item's time in percent of a whole."""
    parts: dict[str, float] = {name: part * profile.op_seconds for name, part in profile.class_shares.items()}
    parts |= {OVERHEAD: profile.overhead_seconds, UNEXPLAINED: max(profile.unexplained_seconds, 0.0)}
    return {name: 100.0 * seconds / profile.items_per_step / whole_seconds for name, seconds in parts.items()}


def _modes_figure(pairs: Sequence[ModePair]) -> Figure:
    figure = Figure(figsize=(8.5, 1.5 + 2.4 * MODE_BAR_INCHES * len(pairs)), layout="constrained")
    axes = figure.add_subplot()
    shown: set[str] = set()
    ticks, labels = [], []
    for index, pair in enumerate(pairs):
        whole = pair.train.item_seconds
        for offset, mode, profile in ((0.0, "train", pair.train), (1.0, "infer", pair.infer)):
            middle = 2.6 * index + offset
            percents = class_percents(profile, whole)
            left = 0.0
            for name in [name for name in PARTS if percents[name] > 0.0]:
                segment(axes, middle, left, percents[name], name, name)
                left += percents[name]
                shown.add(name)
            end, seconds = 100.0 * profile.item_seconds / whole, duration(profile.item_seconds)
            axes.text(end + 1.0, middle, seconds, va="center", ha="left", fontsize=SMALL_POINTS - 0.5)
            ticks.append(middle)
            labels.append(f"{wrap(pair.train.point.workload, 18.0, 1)} {mode}")
    axes.set_yticks(ticks, labels)
    axes.set_ylim(ticks[-1] + 0.8, -0.8)
    axes.set_xlim(0.0, max(114.0, axes.get_xlim()[1] + 14.0))
    axes.set_xlabel("time per item, % of training")
    return _finish_bars(figure, shown)


LOSS_BAR_INCHES, LOSSES_WIDTH_INCHES = 0.36, 9.0


def op_losses(result: OpEvaluation) -> Drawing | NotDrawn:
    """Draw a bar per subject: 100 % is the time beyond perfect scaling, divided among ops, the largest first."""
    losses = [
        (scaling.name, scaling.losses[-1])
        for scaling in result.scalings
        if scaling.losses and scaling.losses[-1].significant
    ]
    if not losses:
        return NotDrawn("no workload lost a significant part of its efficiency on the traced numbers of threads")
    caption = (
        "Efficiency lost on the largest traced number of threads: how much longer a step takes than its time on one "
        "thread divided by the number of threads. Each bar divides the loss among ops, the largest first, coloured by "
        "class. Ops that scale better than perfectly are left out, so that a bar may be longer than 100 %."
    )
    return Drawing(caption, _losses_figure(losses))


def segments(loss: Loss) -> list[tuple[str, str, float]]:
    """Name, class, and percentage of each part with a loss, the largest first."""
    return [
        (part.name, part.name if part.name in NOT_OPS else op_class(part.name), 100.0 * part.share.value)
        for part in loss.parts
        if part.share.value >= 0.002
    ]


def _losses_figure(losses: Sequence[tuple[str, Loss]]) -> Figure:
    figure = Figure(figsize=(LOSSES_WIDTH_INCHES, 1.2 + LOSS_BAR_INCHES * len(losses)), layout="constrained")
    axes = figure.add_subplot()
    shown: set[str] = set()
    bars = [segments(loss) for _, loss in losses]
    longest = max(100.0, *(sum(percent for _, _, percent in bar) for bar in bars))
    for index, bar in enumerate(bars):
        left = 0.0
        for name, part, percent in bar:
            segment(axes, index, left, percent, part, f"{name} {percent:.0f}", longest)
            shown.add(part)
            left += percent
    labels = [
        f"{wrap(name, 20.0, 1)}, {count(loss.threads, 'thread')}: {share(loss.efficiency)} efficient"
        for name, loss in losses
    ]
    axes.set_yticks(range(len(losses)), labels)
    axes.set_ylim(len(losses) - 0.5, -0.5)
    axes.set_xlim(0.0, longest)
    axes.set_xlabel("share of the loss, %")
    return _finish_bars(figure, shown)


MOST_PARTS = 4
# Laws from fewer numbers of threads are drawn only if no workload has more.
LEAST_THREADS = 3
PANEL_INCHES = (5.0, 1.85)
# Times span many powers of ten, so parts below this share of a step are not drawn.
LEAST_SHARE = 0.01


def op_threads(result: OpEvaluation) -> Drawing | NotDrawn:
    """Draw a panel per subject: its heaviest parts as marks, their laws as lines, on logarithmic axes."""
    if not result.scalings:
        return NotDrawn("no workload was traced on several numbers of threads")
    most = max(len(scaling.laws.times.threads) for scaling in result.scalings)
    least = min(most, LEAST_THREADS)
    scalings = [scaling for scaling in result.scalings if len(scaling.laws.times.threads) >= least]
    scalings.sort(key=lambda scaling: scaling.profiles[0].point.mode != "train")
    others = len(result.scalings) - len(scalings)
    left_out = f" Left out, because traced on fewer than {least} numbers of threads: {others}." if others else ""
    caption = (
        "Time per step of the parts that take longest on the most threads, each with its own Amdahl law. The dotted "
        "line is perfect scaling of the whole step. The main purpose of a part is below its name. More threads do not "
        f"help a part with a flat line.{left_out}"
    )
    return Drawing(caption, _threads_figure(scalings))


def heaviest(scaling: Scaling) -> list[int]:
    """The indices of the parts with the most time on the most threads."""
    seconds = scaling.laws.times.means[-1]
    ranked = sorted(range(len(seconds)), key=lambda index: -seconds[index])
    return [index for index in ranked if seconds[index] >= LEAST_SHARE * seconds.sum()][:MOST_PARTS]


def purpose_note(scaling: Scaling, name: str) -> str:
    """A line with the main purpose of an op on the most threads, if it is known."""
    purpose = next((op.main_purpose for op in scaling.profiles[-1].ops if op.type == name), None)
    return f"\n  {purpose}" if purpose else ""


def _threads_figure(scalings: Sequence[Scaling]) -> Figure:
    columns = 1 if len(scalings) == 1 else 2
    rows = -(-len(scalings) // columns)
    width, height = PANEL_INCHES
    figure = Figure(
        figsize=(width * columns * (1.3 if columns == 1 else 1.0), 0.5 + rows * height), layout="constrained"
    )
    for index, scaling in enumerate(scalings):
        axes = figure.add_subplot(rows, columns, index + 1)
        _draw_threads(axes, scaling)
        if index >= len(scalings) - columns:
            axes.set_xlabel("threads")
    figure.supylabel("time per step")
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0.0, 0.0, 0.985, 1.0))  # legends beside panels are measured a little too narrow
    return figure


def _draw_threads(axes: Axes, scaling: Scaling) -> None:
    laws = scaling.laws
    threads = np.array(laws.times.threads, dtype=np.float64)
    along = np.geomspace(threads[0], threads[-1], 30)
    for rank, index in enumerate(heaviest(scaling)):
        share_of_step = laws.times.means[-1][index] / laws.times.steps[-1]
        name = laws.times.names[index]
        label = f"{wrap(name, 17.0, 1)} {share(share_of_step)}{purpose_note(scaling, name)}"
        axes.plot(along, laws.parallel[0, index] / along + laws.serial[0, index], color=colour(rank), linewidth=1.0)
        look: dict[str, Any] = {"linestyle": "none", "marker": marker(rank), "markersize": 4.5, "color": colour(rank)}
        axes.plot(threads, laws.times.means[:, index], label=label, **look)
    steps = laws.times.steps
    axes.plot(along, (laws.parallel[0].sum() / along + laws.serial[0].sum()), color=INK, linewidth=1.2)
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
    axes.set_title(wrap(on_one_line(scaling.name), 36.0, 2), fontsize=TEXT_POINTS)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=SMALL_POINTS - 0.5, handlelength=1.2)
