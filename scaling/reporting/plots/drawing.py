"""How any kind of figure is drawn: in our look, and laid out once for all of its files."""

from collections.abc import Callable
from dataclasses import replace

from scaling.reporting.plots.picture import Nothing, Picture
from scaling.reporting.plots.style import style
from scaling.reporting.plots.text import printable


def drawn(draw: Callable[[], Picture | Nothing]) -> Picture | Nothing:
    """What a kind draws, ready to be written; each of its files need not lay it out again."""
    with style():
        found = draw()
        if isinstance(found, Picture):
            engine = found.figure.get_layout_engine()
            if engine is not None:
                engine.execute(found.figure)
                found.figure.set_layout_engine(None)
            found = replace(found, caption=printable(found.caption))
    return found
