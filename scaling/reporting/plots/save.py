"""Pictures as files, and as an SVG element within a page."""

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
# No image may have more dots in a direction (a limit of matplotlib).
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
        paths.append(write_output(path, _svg_file(drawing) if extension == "svg" else _render(drawing, extension)))
    return paths


def _svg_file(drawing: Drawing) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(drawing, paper=True)}\n'.encode()


def _render(drawing: Drawing, extension: str) -> bytes:
    metadata = {"Title": on_one_line(drawing.title)} | ({"CreationDate": None} if extension == "pdf" else {})
    file = BytesIO()
    with style():
        drawing.figure.savefig(file, format=extension, dpi=_dots_per_inch(drawing.figure), metadata=metadata)
    return file.getvalue()


def _dots_per_inch(figure: Figure) -> float:
    return float(min(DOTS_PER_INCH, MOST_DOTS / max(figure.get_size_inches())))


def page_svg(drawing: Drawing) -> str:
    """An `<svg>` element for a page: its ink is the page's text colour, its ids begin with the kind.

    A page forbids inline styles, so that every declaration of one is an attribute.
    """
    return _svg(drawing, paper=False)


def _svg(drawing: Drawing, *, paper: bool) -> str:
    """A small SVG with a title and a description; on white paper, or in the ink of the page it is put into."""
    root = ElementTree.fromstring(_render_svg(drawing.figure))
    for child in list(root):
        if child.tag == f"{_SVG}metadata" or child.find(f"{_SVG}style") is not None:
            root.remove(child)  # whose style would reach out of the drawing
    names = _short_names(root, drawing.kind)
    for element in root.iter():
        _shorten(element, names, paper)
    for group in root.iter(f"{_SVG}g"):
        _share_style(group)
    _unwrap(root)
    if paper:
        root.insert(0, ElementTree.Element(f"{_SVG}rect", {"width": "100%", "height": "100%", "fill": "#ffffff"}))
    title, about = ElementTree.Element(f"{_SVG}title"), ElementTree.Element(f"{_SVG}desc")
    title.text, about.text = on_one_line(drawing.title), on_one_line(drawing.caption)
    title.set("id", f"{drawing.kind}-picture-title")
    about.set("id", f"{drawing.kind}-picture-about")
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
    """Render a figure with matplotlib, without a background; the last one is cached for a file and a page of it."""
    svg = StringIO()
    with style():
        figure.savefig(svg, format="svg", transparent=True)
    return svg.getvalue()


def _short_names(root: ElementTree.Element, kind: str) -> dict[str, str]:
    """New names for whatever is referred to, with the kind in front so that no two pictures of a page share one."""
    used = [element.get(_LINK, "")[1:] for element in root.iter(f"{_SVG}use")]
    clips = [_CLIP.fullmatch(element.get("clip-path", "")) for element in root.iter()]
    used += [clip[1] for clip in clips if clip]
    return {name: f"{kind}-{number}" for number, name in enumerate(dict.fromkeys(used))}


def _shorten(element: ElementTree.Element, names: dict[str, str], paper: bool) -> None:
    element.text, element.tail = (_drop_blank(text) for text in (element.text, element.tail))
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


def _drop_blank(text: str | None) -> str | None:
    return text if text and text.strip() else None


def _round_numbers(numbers: str) -> str:
    return _NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), numbers)


def _declarations(css: str, paper: bool) -> str:
    """A style without the font, which the whole drawing has, and in the page's ink."""
    parts = [part.strip() for part in css.split(";") if not part.strip().startswith("font-family")]
    small = ";".join(part.replace(": ", ":") for part in parts)
    return small if paper else small.replace(INK, "currentColor")


def styles_to_attributes(root: ElementTree.Element) -> None:
    """Give every declaration of a style as an attribute of its own."""
    for element in root.iter():
        for part in filter(None, map(str.strip, element.attrib.pop("style", "").split(";"))):
            name, _, value = part.partition(":")
            element.set(name.strip(), value.strip())


def _unwrap(element: ElementTree.Element) -> None:
    """Replace groups without attributes by what they hold."""
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
