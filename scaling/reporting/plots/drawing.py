"""Draw figures by name, in our style and laid out once, ready to be saved in any format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from scaling.analysis.traces import Trace
from scaling.features import FigureKind, Needs, features, resolve
from scaling.reporting.plots.registry import kinds
from scaling.reporting.plots.style import FAINT, on_one_line, style, wrap
from scaling.results.evaluation import Evaluation, first_series, keys_of_series
from scaling.results.store import where_and_when

__all__ = ["Drawing", "Figure", "NotDrawn", "draw_figures", "draw_kinds", "draw_traces"]

# At most this many series on a page; each has a panel in half a dozen figures, and more take a minute to draw.
MOST_SERIES = 24

# The size and the longest line of the machine and day in a corner of every figure.
STAMP_POINTS, STAMP_EMS = 6.5, 70.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure with its caption; kind and title come from the registry."""

    caption: str
    figure: Figure
    kind: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class NotDrawn:
    """The reason why a kind of figure has nothing to draw."""

    reason: str
    kind: str = ""
    title: str = ""


def draw_figures(
    evaluation: Evaluation, names: Sequence[str] | None = None, target: float | None = None, *, on_page: bool = False
) -> Iterator[Drawing | NotDrawn]:
    """Draw figures of an evaluated folder: the named ones, or every kind of its rows and traces.

    With a target throughput in units per second, figures mark the sizes that reach it. On a page, they show the first
    `MOST_SERIES` series.
    """
    part = first_series(evaluation, MOST_SERIES) if on_page else evaluation
    shown, series = len(keys_of_series(part)), len(keys_of_series(evaluation))
    stamp = where_and_when(evaluation.folder.rows)
    available = {kind.name: kind for kind in kinds("rows")}
    for name in available if names is None else names:
        kind = available[name]
        drawing = _finish(kind, part if kind.per_series else evaluation, target, stamp)
        if isinstance(drawing, Drawing) and kind.per_series and part is not evaluation:
            note = f"The first {shown} of {series} series; `scaling plot` draws all."
            drawing = replace(drawing, caption=f"{drawing.caption} {note}")
        yield drawing
    if names is None:
        yield from draw_traces(evaluation.folder.traces, stamp=stamp)


def draw_traces(
    traces: Sequence[Trace], names: Sequence[str] | None = None, stamp: str = ""
) -> Iterator[Drawing | NotDrawn]:
    """Draw figures of traces, if any: the named ones, or every kind."""
    for feature in features() if traces else ():
        if "traces" in feature.subjects:
            yield from draw_kinds("traces", resolve(feature.subjects["traces"])(traces), names, stamp=stamp)


def draw_kinds(
    needs: Needs, subject: object, names: Sequence[str] | None, target: float | None = None, stamp: str = ""
) -> Iterator[Drawing | NotDrawn]:
    """Draw the figures of one subject: the named ones, or every kind; `stamp` is its machine and day."""
    available = {kind.name: kind for kind in kinds(needs)}
    for name in available if names is None else names:
        yield _finish(available[name], subject, target, stamp)


def _finish(kind: FigureKind, subject: object, target: float | None, stamp: str) -> Drawing | NotDrawn:
    """Draw one figure in our style; files and page share its layout."""
    function = resolve(kind.function)
    with style():
        drawing: Drawing | NotDrawn = function(subject, target) if kind.takes_target else function(subject)
        if isinstance(drawing, Drawing):
            figure = drawing.figure
            # Above the panels, or below them if the legend is above; legends within axes lack this private attribute.
            above = any(getattr(legend, "_outside_loc", None) == "upper" for legend in figure.legends)
            write = figure.supxlabel if above else figure.suptitle
            write(wrap(on_one_line(stamp), STAMP_EMS, 1), x=0.995, ha="right", fontsize=STAMP_POINTS, color=FAINT)
            if engine := figure.get_layout_engine():
                engine.execute(figure)
                figure.set_layout_engine(None)
            drawing = replace(drawing, caption=on_one_line(drawing.caption))
    return replace(drawing, kind=kind.name, title=kind.title)
