"""What a figure holds, read back from its artists."""

import re
from functools import lru_cache
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from scaling.reporting.plots.drawing import Drawing, NotDrawn, draw_figures, page_svg
from scaling.reporting.plots.style import FAINT, style
from scaling.results.evaluation import Evaluation


def picture(result: Evaluation, kind: str, target: float | None = None) -> Drawing:
    """The one figure of a kind."""
    (drawing,) = draw_figures(result, [kind], target)
    assert isinstance(drawing, Drawing), drawing
    return drawing


def nothing(result: Evaluation, kind: str) -> str:
    """Why there is no figure of a kind."""
    (drawing,) = draw_figures(result, [kind])
    assert isinstance(drawing, NotDrawn)
    return drawing.reason


def panels(drawing: Drawing) -> list[Axes]:
    """The panels of a figure."""
    return drawing.figure.axes


def mark_lines(axes: Axes) -> list[Line2D]:
    """Artists that are marks of a panel's own series, the topmost first; neither dots of others nor ends of bars."""
    return [line for line in reversed(axes.lines) if line.get_marker() not in ("None", "none", "", None, ".", "_")]


def marks(axes: Axes) -> dict[float, float]:
    """The value over each count of cores, as marked."""
    return {float(x): float(y) for line in mark_lines(axes) for x, y in zip(*line.get_data(), strict=True)}


def hollow(axes: Axes) -> set[float]:
    """The counts with a hollow mark."""
    return {float(x) for line in mark_lines(axes) if line.get_markerfacecolor() == "none" for x in line.get_xdata()}


def bars(axes: Axes) -> dict[float, tuple[float, float]]:
    """The interval over each count of cores that has one."""
    intervals = {}
    for lines in axes.collections:
        if isinstance(lines, LineCollection):
            for segment in lines.get_segments():
                intervals[float(segment[0][0])] = float(segment[0][1]), float(segment[1][1])
    return intervals


def bar_ends(axes: Axes) -> list[Line2D]:
    """The ends of bars, where they are drawn."""
    return [line for line in axes.lines if line.get_marker() == "_"]


def behind(axes: Axes) -> int:
    """How many grey marks of other series there are."""
    return sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "." and line.get_color() == FAINT)


def laws(axes: Axes) -> list[Line2D]:
    """Lines without marks, apart from thin references."""
    return [line for line in axes.lines if line.get_linestyle() != "None" and line.get_linewidth() > 0.9]


def legend(drawing: Drawing) -> list[str]:
    """What the legend says."""
    return [text.get_text() for one in drawing.figure.legends for text in one.get_texts()]


def joined(axes: Axes) -> list[Line2D]:
    """Marks that a line runs through, of which there must be none."""
    return [line for line in mark_lines(axes) if line.get_linestyle() not in ("None", "none", "")]


def texts(figure: Figure) -> list[Text]:
    """Every text that is seen."""
    with style():
        figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    shown = {id(label) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in _shown(axis)}
    hidden = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for label in (tick.label1, tick.label2)
    } - shown
    return [text for text in texts if id(text) not in hidden]


def _shown(axis):
    low, high = sorted(axis.get_view_interval())
    slack = 1e-6 * (high - low)
    if not axis.axes.axison:
        return []
    return [
        tick.label1
        for tick in axis.get_major_ticks()
        if low - slack <= tick.get_loc() <= high + slack and tick.label1.get_visible()
    ]


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that cover each other."""
    boxes = _boxes(figure)
    return [
        (one, other)
        for (one, a), (other, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5
    ]


def outside(figure: Figure) -> list[str]:
    """Texts that are cut off at the edge of the figure."""
    page = figure.bbox
    return [
        text
        for text, box in _boxes(figure)
        if box.x0 < page.x0 - 1 or box.y0 < page.y0 - 1 or box.x1 > page.x1 + 1 or box.y1 > page.y1 + 1
    ]


@lru_cache(maxsize=1)  # two questions are asked of a figure one after the other, and laying it out takes a while
def _boxes(figure: Figure):
    return [(text.get_text(), text.get_window_extent()) for text in texts(figure)]


def empty_panels(figure: Figure) -> list[Axes]:
    """Panels in which nothing is drawn."""

    def has_artists(axes: Axes) -> bool:
        lines = any(np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any() for line in axes.lines)
        return lines or bool(axes.patches) or bool(axes.collections)

    return [axes for axes in figure.axes if not has_artists(axes)]


def svg_texts(drawing: Drawing) -> list[str]:
    """The texts of a figure as a page shows them."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", page_svg(drawing))
