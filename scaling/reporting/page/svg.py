"""The figures as a page carries them: SVG whose looks are attributes, for the page allows no inline style."""

from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

from markupsafe import Markup

from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.save import page_svg

_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class EmbeddedFigure:
    """A figure with its words; `svg` is markup that has escaped every text in it."""

    kind: str
    title: str
    caption: str
    svg: Markup


def embed_figures(drawings: Iterable[Drawing | NotDrawn]) -> tuple[list[EmbeddedFigure], list[NotDrawn]]:
    """Pictures as a page carries them, and those that are none."""
    embedded, undrawn = [], []
    for drawing in drawings:
        if isinstance(drawing, Drawing):
            embedded.append(
                EmbeddedFigure(
                    drawing.kind, drawing.title, drawing.caption, Markup(styles_to_attributes(page_svg(drawing)))
                )
            )
        else:
            undrawn.append(drawing)
    return embedded, undrawn


def styles_to_attributes(svg: str) -> str:
    """The same SVG with every declaration of a style as an attribute of its own."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        for name, value in _declarations(element.attrib.pop("style", "")):
            element.set(name, value)
    return ElementTree.tostring(root, encoding="unicode")


def _declarations(style: str) -> Iterable[tuple[str, str]]:
    for part in filter(None, map(str.strip, style.split(";"))):
        name, _, value = part.partition(":")
        yield name.strip(), value.strip()
