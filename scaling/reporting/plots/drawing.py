"""Draw figures by name: each is finished in our style and laid out once, ready to be saved in any format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from scaling.analysis.roofline import RooflinePoint
from scaling.analysis.traces import Trace
from scaling.features import FigureKind, Needs, features, resolve
from scaling.reporting.plots.registry import kinds
from scaling.reporting.plots.style import on_one_line, style
from scaling.results.evaluation import Evaluation, keys_of_series, split_series

__all__ = [
    "Drawing",
    "Figure",
    "NotDrawn",
    "draw_figures",
    "draw_kinds",
    "draw_page_figures",
    "draw_roofline",
    "draw_traces",
]

# A series has a panel in each of half a dozen figures. Of more series than this a page has several figures of a kind,
# and of more than so many times as many it leaves some out: it would take minutes to draw and to open.
MOST_SERIES, MOST_PARTS = 40, 5


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
    yield from draw_kinds("rows", evaluation, names, target)
    if names is None:
        yield from draw_traces(evaluation.folder.traces)


def draw_page_figures(evaluation: Evaluation, names: Sequence[str] | None = None) -> Iterator[Drawing | NotDrawn]:
    """Draw figures for a page, the named ones or every kind; of very many series in parts, so that each can be read."""
    parts = split_series(evaluation, MOST_SERIES)
    if len(parts) == 1:
        yield from draw_figures(evaluation, names)
        return
    notes = _part_notes(parts)
    for kind in kinds("rows"):
        if names is None or kind.name in names:
            yield from _draw_parts(kind, notes) if kind.per_series else [_finish(kind, evaluation, None)]
    if names is None:
        yield from draw_traces(evaluation.folder.traces)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some of the series, and which of all they are."""

    evaluation: Evaluation
    number: int
    of: int
    note: str


def _part_notes(parts: Sequence[Evaluation]) -> list[_Part]:
    """The parts that are drawn; the last says that there are more, if there are."""
    sizes = [len(keys_of_series(part)) for part in parts]
    drawn, first, noted = len(parts[:MOST_PARTS]), 1, []
    for number, (part, size) in enumerate(zip(parts[:MOST_PARTS], sizes, strict=False), 1):
        more = " The others are drawn by `scaling plot`." if number == drawn < len(parts) else ""
        noted.append(_Part(part, number, drawn, f"Series {first} to {first + size - 1} of {sum(sizes)}.{more}"))
        first += size
    return noted


def _draw_parts(kind: FigureKind, parts: Sequence[_Part]) -> list[Drawing | NotDrawn]:
    """A figure of every part that has anything to draw, or else why the first has nothing."""
    drawings = [(_finish(kind, part.evaluation, None), part) for part in parts]
    drawn = [_number(drawing, part) for drawing, part in drawings if isinstance(drawing, Drawing)]
    return [*drawn] or [drawings[0][0]]


def _number(drawing: Drawing, part: _Part) -> Drawing:
    """The drawing as one of several of its kind."""
    kind = drawing.kind if part.number == 1 else f"{drawing.kind}-{part.number}"
    title = drawing.title if part.of == 1 else f"{drawing.title}, {part.number} of {part.of}"
    return replace(drawing, kind=kind, title=title, caption=f"{drawing.caption} {part.note}")


def draw_traces(traces: Sequence[Trace], names: Sequence[str] | None = None) -> Iterator[Drawing | NotDrawn]:
    """Draw figures of traces: the named ones, or every kind; none where there are no traces."""
    for feature in features() if traces else ():
        if "traces" in feature.subjects:
            yield from draw_kinds("traces", resolve(feature.subjects["traces"])(traces), names)


def draw_roofline(achieved: Sequence[RooflinePoint]) -> Iterator[Drawing | NotDrawn]:
    """Draw what networks achieve of their machine's ceilings."""
    yield from draw_kinds("ceilings", achieved, None)


def draw_kinds(
    needs: Needs, subject: object, names: Sequence[str] | None, target: float | None = None
) -> Iterator[Drawing | NotDrawn]:
    """Draw the figures of one subject: the named ones, or every kind there is."""
    available = {kind.name: kind for kind in kinds(needs)}
    for name in available if names is None else names:
        yield _finish(available[name], subject, target)


def _finish(kind: FigureKind, subject: object, target: float | None) -> Drawing | NotDrawn:
    """Draw one figure in our style; its files and the page share one layout."""
    function = resolve(kind.function)
    with style():
        drawing: Drawing | NotDrawn = function(subject, target) if kind.takes_target else function(subject)
        if isinstance(drawing, Drawing):
            _lay_out(drawing.figure)
            drawing = replace(drawing, caption=on_one_line(drawing.caption))
    return replace(drawing, kind=kind.name, title=kind.title)


def _lay_out(figure: Figure) -> None:
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
