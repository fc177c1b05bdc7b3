"""Pictures as files, and as an SVG element within a page."""

import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from scaling.showing.plots.picture import Picture
from scaling.showing.plots.style import INK, style
from scaling.showing.plots.text import printable

FORMATS = ("png", "svg", "pdf")
DOTS_PER_INCH = 160
FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_SPACE = re.compile(r"\s*([A-Za-z])\s*")


def write(picture: Picture, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """The files a picture was written to, one a format, named for its kind."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for each in formats:
        path = folder / f"{picture.kind}.{each}"
        if each == "svg":
            path.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(picture, paper=True)}\n', encoding="utf-8")
        else:
            metadata = {"Title": printable(picture.title)} | ({"CreationDate": None} if each == "pdf" else {})
            with style():
                picture.figure.savefig(path, format=each, dpi=DOTS_PER_INCH, metadata=metadata)
        written.append(path)
    return written


def page_svg(picture: Picture) -> str:
    """An `<svg>` element for a page: its ink is the page's text colour, its ids begin with the kind."""
    return _svg(picture, paper=False)


def _svg(picture: Picture, *, paper: bool) -> str:
    """A small SVG with a title and a description; on white paper, or in the ink of the page it is put into."""
    drawn = StringIO()
    with style():
        picture.figure.savefig(drawn, format="svg", transparent=not paper)
    root = ElementTree.fromstring(drawn.getvalue())
    for place in [child for child in root if child.tag != f"{_SVG}g"]:
        root.remove(place)  # metadata, and a style that would reach out of the picture
    linked = {each.get(_LINK, "")[1:] for each in root.iter(f"{_SVG}use")}
    clipped = re.compile(r"url\(#([^)]+)\)")
    linked |= {name for each in root.iter() for name in clipped.findall(each.get("clip-path", ""))}
    for each in root.iter():
        _made_small(each, picture.kind, linked, paper)
    _unwrapped(root)
    title, about = ElementTree.Element(f"{_SVG}title"), ElementTree.Element(f"{_SVG}desc")
    title.text, about.text = printable(picture.title), printable(picture.caption)
    title.set("id", f"{picture.kind}-title")
    about.set("id", f"{picture.kind}-about")
    root[:0] = [title, about]
    root.attrib.clear()
    width, height = picture.figure.get_size_inches() * 72.0
    root.set("viewBox", f"0 0 {width:.6g} {height:.6g}")
    root.set("role", "img")
    root.set("aria-labelledby", f"{picture.kind}-title {picture.kind}-about")
    root.set("style", f"font-family: {FONTS}; stroke-linejoin: round")
    return _text(root)


def _made_small(element: ElementTree.Element, kind: str, linked: set[str], paper: bool) -> None:
    element.text, element.tail = (_kept(each) for each in (element.text, element.tail))
    given, element.attrib = dict(element.attrib), {}
    for name, value in given.items():
        if name == "id":
            if value in linked:
                element.set("id", f"{kind}-{value}")
        elif name == _LINK:
            element.set("href", f"#{kind}-{value[1:]}")
        elif name == "clip-path":
            element.set(name, value.replace("url(#", f"url(#{kind}-"))
        elif name == "style":
            element.set(name, _declarations(value, paper))
        elif not (name == "transform" and value.startswith("rotate(-0 ")):
            element.set(name, _SPACE.sub(r"\1", _rounded(value)).strip() if name == "d" else _rounded(value))


def _kept(text: str | None) -> str | None:
    return text if text and text.strip() else None


def _rounded(numbers: str) -> str:
    return _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0").replace("-0", "-0"), numbers)


def _declarations(css: str, paper: bool) -> str:
    """A style without the font, which the whole picture has, and in the page's ink."""
    parts = [part.strip() for part in css.split(";") if not part.strip().startswith("font-family")]
    small = ";".join(part.replace(": ", ":") for part in parts)
    return small if paper else small.replace(INK, "currentColor")


def _unwrapped(element: ElementTree.Element) -> None:
    """Take away groups that say nothing, and put what they hold in their place."""
    held: list[ElementTree.Element] = []
    for child in element:
        _unwrapped(child)
        held += list(child) if child.tag == f"{_SVG}g" and not child.attrib else [child]
    element[:] = held


def _text(root: ElementTree.Element) -> str:
    for each in root.iter():
        each.tag = each.tag.removeprefix(_SVG)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return ElementTree.tostring(root, encoding="unicode")
