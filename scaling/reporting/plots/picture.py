"""What a kind of figure comes to: a picture with its words, or the reason why there is none."""

from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, what it is called, and in a sentence or two what is seen and how to read it."""

    kind: str
    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Nothing:
    """A kind with nothing to draw, and why in one sentence."""

    kind: str
    title: str
    reason: str
