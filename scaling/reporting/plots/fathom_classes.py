"""How op classes look, the same in every figure: a colour each, and its name within wherever there is room.

Colours alone would not be told apart in grey print, and patterns are not kept in small SVGs.
"""

import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from scaling.analysis.ops.classes import CLASS_NAMES, CLASSES
from scaling.analysis.ops.profile import OVERHEAD, UNEXPLAINED
from scaling.reporting.plots.style import DARK, LIGHT, SMALL_POINTS
from scaling.reporting.plots.text import ems

# Classes in the order of the paper, then what is no op.
PARTS: tuple[str, ...] = (*CLASSES, OVERHEAD, UNEXPLAINED)
_PALETTE = seaborn.color_palette("colorblind").as_hex()
COLOURS: dict[str, str] = dict(zip(PARTS, (_PALETTE[place] for place in (0, 1, 2, 3, 4, 8, 9, 5, 7, 6)), strict=True))
BETWEEN = "#ffffff"
# About how many percent of a bar an em of its small text takes, in figures as wide as ours.
PERCENT_PER_EM = 1.35


def segment(axes: Axes, middle: float, left: float, width: float, part: str, label: str) -> None:
    """A piece of a horizontal bar in the colour of its part, with a label if that fits in."""
    axes.barh(middle, width, 0.8, left, color=COLOURS[part], edgecolor=BETWEEN, linewidth=0.5)
    if ems(label) * PERCENT_PER_EM <= width:
        axes.text(
            left + width / 2.0,
            middle,
            label,
            ha="center",
            va="center",
            fontsize=SMALL_POINTS - 1.0,
            color=_readable_on(COLOURS[part]),
        )


def class_keys(shown: set[str]) -> list[Patch]:
    """Legend lines for the parts that are shown."""
    return [Patch(facecolor=COLOURS[name], label=_words(name)) for name in PARTS if name in shown]


def _words(name: str) -> str:
    return next((words for kind, words in CLASS_NAMES.items() if kind == name), name)


def _readable_on(tint: str) -> str:
    """Dark or light ink, whichever is seen on a fill."""
    red, green, blue = to_rgb(tint)
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else LIGHT
