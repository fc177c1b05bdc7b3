"""Draw figures by name: each is finished in our style and laid out once, ready to be saved in any format."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import cast

from matplotlib.figure import Figure

from scaling.analysis.ops.roofline import RooflinePoint
from scaling.reporting.plots.registry import FigureKind, Needs, kinds
from scaling.reporting.plots.style import on_one_line, style
from scaling.results.evaluation import Evaluation, OpEvaluation, evaluate_ops, first_series, keys_of_series
from scaling.results.node_types import NodeTypeEvaluation

__all__ = [
    "Drawing",
    "Figure",
    "NotDrawn",
    "draw_figures",
    "draw_node_types",
    "draw_op_figures",
    "draw_page_figures",
    "draw_roofline",
]

# A series has a panel in each of half a dozen figures; a page with more of them would take minutes to draw and to open.
MOST_SERIES = 40


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure with its caption; kind and title are those of its registration."""

    caption: str
    figure: Figure
    kind: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class NotDrawn:
    """Why a kind of figure has nothing to draw, in one sentence."""

    reason: str
    kind: str = ""
    title: str = ""


def draw_figures(
    evaluation: Evaluation, names: Sequence[str] | None = None, target: float | None = None
) -> Iterator[Drawing | NotDrawn]:
    """Draw figures of an evaluated folder: the named ones, or every kind, with those of traces where there are any.

    With a target throughput, units per second, the sizes that reach it are marked.
    """
    yield from _draw("rows", evaluation, names, target)
    if names is None and evaluation.folder.traces:
        yield from draw_op_figures(evaluate_ops(evaluation.folder.traces))


def draw_page_figures(evaluation: Evaluation, names: Sequence[str] | None = None) -> Iterator[Drawing | NotDrawn]:
    """Draw figures for a page, the named ones or every kind; of very many series the first, so that the page opens."""
    series = len(keys_of_series(evaluation))
    if series <= MOST_SERIES:
        yield from draw_figures(evaluation, names)
        return
    note = f"The first {MOST_SERIES} of {series} series are drawn; `scaling plot` draws all."
    for drawing in draw_figures(first_series(evaluation, MOST_SERIES), names):
        yield replace(drawing, caption=f"{drawing.caption} {note}") if isinstance(drawing, Drawing) else drawing


def draw_op_figures(evaluation: OpEvaluation, names: Sequence[str] | None = None) -> Iterator[Drawing | NotDrawn]:
    """Draw figures of evaluated traces: the named ones, or every kind."""
    yield from _draw("traces", evaluation, names)


def draw_roofline(achieved: Sequence[RooflinePoint]) -> Iterator[Drawing | NotDrawn]:
    """Draw what networks achieve of their machine's ceilings."""
    yield from _draw("ceilings", achieved, None)


def draw_node_types(
    node_types: Sequence[NodeTypeEvaluation], names: Sequence[str] | None = None, target: float | None = None
) -> Iterator[Drawing | NotDrawn]:
    """Draw figures with a cluster's node types as series: the named ones, or every kind there is."""
    yield from _draw("node types", node_types, names, target)


def _draw(
    needs: Needs, subject: object, names: Sequence[str] | None, target: float | None = None
) -> Iterator[Drawing | NotDrawn]:
    available = {kind.name: kind for kind in kinds(needs)}
    for name in available if names is None else names:
        yield _finish(available[name], subject, target)


def _finish(kind: FigureKind, subject: object, target: float | None) -> Drawing | NotDrawn:
    """Draw one figure in our style; its files and the page share one layout."""
    module, _, name = kind.function.partition(":")
    function = cast("Callable[..., Drawing | NotDrawn]", getattr(import_module(f"{__package__}.{module}"), name))
    with style():
        drawing = function(subject, target) if kind.takes_target else function(subject)
        if isinstance(drawing, Drawing):
            _lay_out(drawing.figure)
            drawing = replace(drawing, caption=on_one_line(drawing.caption))
    return replace(drawing, kind=kind.name, title=kind.title)


def _lay_out(figure: Figure) -> None:
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
