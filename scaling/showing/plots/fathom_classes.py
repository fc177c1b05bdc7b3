"""How op classes look, the same in every figure: a colour each, and a hatch so that grey print tells them apart."""

import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from scaling.analysis.op_classes import CLASS_NAMES, CLASSES
from scaling.analysis.op_profile import OVERHEAD, UNEXPLAINED
from scaling.showing.plots.style import DARK, LIGHT

# Classes in the order of the paper, then what is no op; every second one is hatched.
PARTS: tuple[str, ...] = (*CLASSES, OVERHEAD, UNEXPLAINED)
_PALETTE = seaborn.color_palette("colorblind").as_hex()
COLOURS: dict[str, str] = dict(zip(PARTS, (_PALETTE[place] for place in (0, 1, 2, 3, 4, 8, 9, 5, 7, 6)), strict=True))
HATCHES: dict[str, str] = {name: ("" if place % 2 == 0 else "////") for place, name in enumerate(PARTS)}
HATCH_INK = "#ffffff"


def stacked_bar(axes: Axes, middle: float, widths: dict[str, float], height: float) -> None:
    """A horizontal bar of parts, one after another from the left."""
    left = 0.0
    for name in PARTS:
        width = widths.get(name, 0.0)
        if width > 0.0:
            axes.barh(middle, width, height, left, color=COLOURS[name], hatch=HATCHES[name], edgecolor=HATCH_INK, lw=0)
            left += width


def class_keys(shown: set[str]) -> list[Patch]:
    """Legend lines for the parts that are shown."""
    return [
        Patch(facecolor=COLOURS[name], hatch=HATCHES[name], edgecolor=HATCH_INK, lw=0, label=_words(name))
        for name in PARTS
        if name in shown
    ]


def _words(name: str) -> str:
    return next((words for kind, words in CLASS_NAMES.items() if kind == name), name)


def readable_on(tint: str) -> str:
    """Dark or light ink, whichever is seen on a fill."""
    red, green, blue = to_rgb(tint)
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else LIGHT
