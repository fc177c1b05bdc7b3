"""Draw figures by name, in our style and laid out once, and save them as files or as an SVG element of a page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO, StringIO
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.figure import Figure as Figure

from scaling.analysis.traces import Trace
from scaling.features import FigureKind, Needs, features, resolve
from scaling.reporting.plots.registry import kinds
from scaling.reporting.plots.style import FAINT, INK, on_one_line, style, wrap
from scaling.results.evaluation import Evaluation, first_series, keys_of_series
from scaling.results.files import write_output
from scaling.results.store import where_and_when

# At most this many series on a page; each has a panel in half a dozen figures, and more take a minute to draw.
MOST_SERIES = 24

# The size and the longest line of the machine and day in a corner of every figure.
STAMP_POINTS, STAMP_EMS = 6.5, 70.0
FORMATS = ("png", "svg", "pdf")
DOTS_PER_INCH = 160
# The limit of matplotlib on the width and height of an image.
MOST_DOTS = 2**16 - 1
FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_CLIP = re.compile(r"url\(#([^)]+)\)")
_SPACE = re.compile(r"\s*([A-Za-z])\s*")


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


def save(drawing: Drawing, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure to a folder, one file per format, named by its kind; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for extension in formats:
        path = folder / f"{drawing.kind}.{extension}"
        paths.append(write_output(path, _render(drawing, extension)))
    return paths


def _render(drawing: Drawing, extension: str) -> bytes:
    if extension == "svg":
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(drawing, paper=True)}\n'.encode()
    metadata = {"Title": on_one_line(drawing.title)} | ({"CreationDate": None} if extension == "pdf" else {})
    dots_per_inch = float(min(DOTS_PER_INCH, MOST_DOTS / max(drawing.figure.get_size_inches())))
    file = BytesIO()
    with style():
        drawing.figure.savefig(file, format=extension, dpi=dots_per_inch, metadata=metadata)
    return file.getvalue()


def page_svg(drawing: Drawing) -> str:
    """An `<svg>` element for a page: its ids begin with the kind, and it has no inline styles."""
    return _svg(drawing, paper=False)


def _svg(drawing: Drawing, *, paper: bool) -> str:
    """A small SVG with a title and a description, on white paper or in the text colour of a page."""
    root = ElementTree.fromstring(_render_svg(drawing.figure))
    for child in list(root):
        if child.tag == f"{_SVG}metadata" or child.find(f"{_SVG}style") is not None:
            root.remove(child)  # its style would apply to the whole page
    names = _short_names(root, drawing.kind)
    for element in root.iter():
        _shorten(element, names, paper)
    for group in root.iter(f"{_SVG}g"):
        _share_style(group)
    _unwrap(root)
    if paper:
        root.insert(0, ElementTree.Element(f"{_SVG}rect", {"width": "100%", "height": "100%", "fill": "#ffffff"}))
    title = ElementTree.Element(f"{_SVG}title", {"id": f"{drawing.kind}-picture-title"})
    about = ElementTree.Element(f"{_SVG}desc", {"id": f"{drawing.kind}-picture-about"})
    title.text, about.text = on_one_line(drawing.title), on_one_line(drawing.caption)
    root[:0] = [title, about]
    root.attrib.clear()
    width, height = drawing.figure.get_size_inches() * 72.0
    root.set("viewBox", f"0 0 {width:.6g} {height:.6g}")
    if paper:
        root.set("width", f"{width:.6g}pt")
        root.set("height", f"{height:.6g}pt")
    root.set("role", "img")
    root.set("aria-labelledby", f"{title.get('id')} {about.get('id')}")
    root.set("style", f"font-family: {FONTS}; stroke-linejoin: round")
    if not paper:
        styles_to_attributes(root)
    return _text(root)


@lru_cache(maxsize=1)
def _render_svg(figure: Figure) -> str:
    """A figure as SVG without a background; the last one is cached for its file and its page."""
    svg = StringIO()
    with style():
        figure.savefig(svg, format="svg", transparent=True)
    return svg.getvalue()


def _short_names(root: ElementTree.Element, kind: str) -> dict[str, str]:
    """New names for elements with references; they begin with the kind, and so are unique on a page."""
    used = [element.get(_LINK, "")[1:] for element in root.iter(f"{_SVG}use")]
    clips = [_CLIP.fullmatch(element.get("clip-path", "")) for element in root.iter()]
    used += [clip[1] for clip in clips if clip]
    return {name: f"{kind}-{number}" for number, name in enumerate(dict.fromkeys(used))}


def _shorten(element: ElementTree.Element, names: dict[str, str], paper: bool) -> None:
    element.text, element.tail = (text if text and text.strip() else None for text in (element.text, element.tail))
    given, element.attrib = dict(element.attrib), {}
    for name, value in given.items():
        if name == "id":
            if value in names:
                element.set("id", names[value])
        elif name == _LINK:
            element.set("href", f"#{names[value[1:]]}" if value.startswith("#") else value)
        elif clip := _CLIP.fullmatch(value):
            element.set(name, f"url(#{names[clip[1]]})")
        elif name == "style":
            element.set(name, _declarations(value, paper))
        elif not (name == "transform" and value.startswith("rotate(-0 ")):
            element.set(
                name, _SPACE.sub(r"\1", _round_numbers(value)).strip() if name == "d" else _round_numbers(value)
            )


def _share_style(element: ElementTree.Element) -> None:
    """Set the common style of a group of marks on the group instead of on every mark."""
    marks = [child for child in element if child.tag == f"{_SVG}use"]
    styles = {mark.get("style") for mark in marks}
    if len(marks) == len(element) > 1 and len(styles) == 1:
        element.set("style", styles.pop() or "")
        for mark in marks:
            mark.attrib.pop("style", None)


def _round_numbers(numbers: str) -> str:
    return _NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), numbers)


def _declarations(css: str, paper: bool) -> str:
    """A style without the font, which the drawing sets, in ink or in the text colour of the page."""
    parts = [part.strip() for part in css.split(";") if not part.strip().startswith("font-family")]
    small = ";".join(part.replace(": ", ":") for part in parts)
    return small if paper else small.replace(INK, "currentColor")


def styles_to_attributes(root: ElementTree.Element) -> None:
    """Turn every declaration of a style into an attribute."""
    for element in root.iter():
        for part in filter(None, map(str.strip, element.attrib.pop("style", "").split(";"))):
            name, _, value = part.partition(":")
            element.set(name.strip(), value.strip())


def _unwrap(element: ElementTree.Element) -> None:
    """Replace groups without attributes by their children."""
    held: list[ElementTree.Element] = []
    for child in element:
        _unwrap(child)
        held += list(child) if child.tag == f"{_SVG}g" and not child.attrib else [child]
    element[:] = held


def _text(root: ElementTree.Element) -> str:
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return ElementTree.tostring(root, encoding="unicode")
