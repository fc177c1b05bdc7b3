"""Every kind of figure, by name and in the order a reader wants them."""

from collections.abc import Callable, Iterator, Sequence

from matplotlib.figure import Figure

from scaling.showing.plots.efficiency import efficiency
from scaling.showing.plots.picture import Nothing, Picture
from scaling.showing.plots.speedup import speedup
from scaling.showing.plots.style import style
from scaling.showing.result import Result

__all__ = ["KINDS", "Nothing", "Picture", "pictures"]

_DRAWN: dict[str, Callable[[Result], Picture | Nothing]] = {
    "efficiency": efficiency,
    "speedup": speedup,
}
KINDS: tuple[str, ...] = tuple(_DRAWN)


def pictures(result: Result, kinds: Sequence[str] = KINDS, target: float | None = None) -> Iterator[Picture | Nothing]:
    """The figures of a result, one after another; with a target, units a second, the sizes that reach it are marked."""
    for kind in kinds:
        with style():
            drawn = _DRAWN[kind](result)
            if isinstance(drawn, Picture):
                _settle(drawn.figure)
        yield drawn


def _settle(figure: Figure) -> None:
    """Lay a figure out once, so that each of its files need not do it again."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
