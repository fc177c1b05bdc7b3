"""The style of all figures: ink, a palette for colour-blind readers and grey print, markers, sizes.

The colours of seaborn's colour-blind palette are limited to those visible on white and on dark. Axes and text are drawn
in `INK`, which a page replaces by the colour of its text.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unicodedata import east_asian_width
from warnings import catch_warnings, filterwarnings

import matplotlib.style

from scaling.errors import visible

INK = "#252525"
# Text on the cells of a heat map and on bars, whatever the page around it.
DARK, LIGHT = "#111111", "#fafafa"
FAINT = "#8c8c8c"
# A thin dotted line for an ideal or unchanged value.
REFERENCE: dict[str, Any] = {"linewidth": 0.8, "linestyle": (0, (1, 2))}
# Seaborn's `colorblind`; importing seaborn takes a second and 80 MiB, so that only heat maps do.
PALETTE = (
    *("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc"),
    *("#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9"),
)
COLOURS: tuple[str, ...] = tuple(PALETTE[index] for index in (0, 3, 2, 4, 1, 5, 9))
MARKERS = ("o", "s", "^", "D", "v", "p", "<", ">", "h", "*")

TEXT_POINTS, SMALL_POINTS = 9.0, 8.0
MARK_POINTS, CROWDED_POINTS, BAND_ALPHA = 5.0, 3.4, 0.18

_OURS = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": TEXT_POINTS,
    "axes.labelsize": TEXT_POINTS,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "axes.formatter.useoffset": False,
    "figure.labelsize": TEXT_POINTS,
    "font.size": TEXT_POINTS,
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans", "sans-serif"],
    "grid.color": FAINT,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": SMALL_POINTS,
    "lines.markersize": MARK_POINTS,
    "lines.linewidth": 1.4,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "scaling",  # the same picture is the same file
    "text.color": INK,
    # A dollar in the name of a workload is a dollar.
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL_POINTS,
    "ytick.labelsize": SMALL_POINTS,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw and save in our style, independent of the user's settings."""
    with catch_warnings():
        # Letters that the font lacks are boxes in PNG and PDF, and letters in SVG.
        filterwarnings("ignore", message="(Glyph|Matplotlib currently does not support)")
        with matplotlib.style.context(["default", _OURS]):
            yield


def colour(index: int) -> str:
    """The colour of a series; colour and marker together are unique among the first seventy."""
    return COLOURS[index % len(COLOURS)]


def marker(index: int) -> str:
    """The marker of a series."""
    return MARKERS[index % len(MARKERS)]


# Widths of wide letters and of all others in ems, at most.
WIDE, FULL, USUAL = "mwMWQG@%&—…", 1.02, 0.66


def on_one_line(text: str) -> str:
    """A name on one line, without control characters."""
    return visible(" ".join(text.split()))


def wrap(text: str, ems: float, lines: int = 3) -> str:
    """A name on a limited number of lines, broken at spaces if possible; a longer name loses its middle."""
    # Keep a number and its percent sign together.
    words = on_one_line(text).replace(" %", "\N{NO-BREAK SPACE}%").split(" ")
    broken = _lines(words, ems)
    if len(broken) > lines:
        broken = [*broken[: lines - 1], "… " + _end(" ".join(words), ems - 1.5)]
    return "\n".join(broken).replace("\N{NO-BREAK SPACE}", " ")


def ems(text: str) -> float:
    """An upper estimate of the width of a text."""
    return sum(FULL if letter in WIDE or east_asian_width(letter) in "WF" else USUAL for letter in text)


def _lines(words: list[str], most: float) -> list[str]:
    lines = [""]
    for word in words:
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if ems(joined) <= most:
            lines[-1] = joined
            continue
        pieces = _pieces(word, most)
        lines += pieces if lines[-1] else []
        if not lines[0]:
            lines = pieces
    return lines


def _pieces(word: str, most: float) -> list[str]:
    lines = [""]
    for letter in word:
        if ems(lines[-1] + letter) > most and lines[-1]:
            lines.append("")
        lines[-1] += letter
    return lines


def _end(text: str, most: float) -> str:
    start = len(text)
    while start > 0 and ems(text[start - 1 :]) <= most:
        start -= 1
    return text[start:]
