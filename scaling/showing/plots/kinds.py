"""Every kind of figure, by name and in the order a reader wants them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from scaling.showing.plots.capacity import capacity
from scaling.showing.plots.efficiency import efficiency
from scaling.showing.plots.karp_flatt import karp_flatt
from scaling.showing.plots.modes import modes
from scaling.showing.plots.picture import Nothing, Picture
from scaling.showing.plots.placement import placement
from scaling.showing.plots.sections import sections
from scaling.showing.plots.smt import smt
from scaling.showing.plots.speedup import speedup
from scaling.showing.plots.steps import steps
from scaling.showing.plots.style import style
from scaling.showing.plots.text import printable
from scaling.showing.plots.threads import threads
from scaling.showing.result import Result

__all__ = ["KINDS", "Nothing", "Picture", "pictures"]

_DRAWN: dict[str, Callable[[Result], Picture | Nothing]] = {
    "efficiency": efficiency,
    "speedup": speedup,
    "steps": steps,
    "smt": smt,
    "threads": threads,
    "sections": sections,
    "karp-flatt": karp_flatt,
    "modes": modes,
    "placement": placement,
    "capacity": capacity,
}
KINDS: tuple[str, ...] = tuple(_DRAWN)


def pictures(result: Result, kinds: Sequence[str] = KINDS, target: float | None = None) -> Iterator[Picture | Nothing]:
    """The figures of a result, one after another; with a target, units a second, the sizes that reach it are marked."""
    for kind in kinds:
        with style():
            drawn = capacity(result, target) if kind == "capacity" else _DRAWN[kind](result)
            if isinstance(drawn, Picture):
                _settle(drawn.figure)
                drawn = replace(drawn, caption=printable(drawn.caption))
        yield drawn


def _settle(figure: Figure) -> None:
    """Lay a figure out once, so that each of its files need not do it again."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)
