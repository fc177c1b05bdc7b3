"""Figures as files, and as an SVG element of a page."""

import re
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO, StringIO
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.figure import Figure

from scaling.reporting.plots.drawing import Drawing
from scaling.reporting.plots.style import INK, on_one_line, style
from scaling.results.files import write_output

FORMATS = ("png", "svg", "pdf")
DOTS_PER_INCH = 160
# The limit of matplotlib on the width and height of an image.
MOST_DOTS = 2**16 - 1
FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_CLIP = re.compile(r"url\(#([^)]+)\)")
_SPACE = re.compile(r"\s*([A-Za-z])\s*")


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
