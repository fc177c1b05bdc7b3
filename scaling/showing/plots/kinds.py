"""Every kind of figure, by name and in the order a reader wants them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from scaling.showing.op_result import op_result
from scaling.showing.plots.capacity import capacity
from scaling.showing.plots.drawing import drawn
from scaling.showing.plots.efficiency import efficiency
from scaling.showing.plots.fathom import op_pictures
from scaling.showing.plots.karp_flatt import karp_flatt
from scaling.showing.plots.modes import modes
from scaling.showing.plots.picture import Nothing, Picture
from scaling.showing.plots.placement import placement
from scaling.showing.plots.sections import sections
from scaling.showing.plots.smt import smt
from scaling.showing.plots.speedup import speedup
from scaling.showing.plots.steps import steps
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


def pictures(
    result: Result, kinds: Sequence[str] | None = None, target: float | None = None
) -> Iterator[Picture | Nothing]:
    """The figures of a result, one after another: those asked for, or every kind, and those of traces if there are any.

    With a target, units a second, the sizes that reach it are marked.
    """
    for kind in KINDS if kinds is None else kinds:
        yield drawn(partial(capacity, result, target) if kind == "capacity" else partial(_DRAWN[kind], result))
    if kinds is None and result.folder.traces:
        yield from op_pictures(op_result(result.folder.traces))
