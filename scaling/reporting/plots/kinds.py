"""Every kind of figure, by name and in the order a reader wants them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from scaling.reporting.plots.capacity import capacity
from scaling.reporting.plots.drawing import drawn
from scaling.reporting.plots.efficiency import efficiency
from scaling.reporting.plots.fathom import op_pictures
from scaling.reporting.plots.karp_flatt import karp_flatt
from scaling.reporting.plots.modes import modes
from scaling.reporting.plots.picture import Nothing, Picture
from scaling.reporting.plots.placement import placement
from scaling.reporting.plots.sections import sections
from scaling.reporting.plots.smt import smt
from scaling.reporting.plots.speedup import speedup
from scaling.reporting.plots.steps import steps
from scaling.reporting.plots.threads import threads
from scaling.results.evaluation import Evaluation
from scaling.results.op_evaluation import evaluate_ops

__all__ = ["KINDS", "Nothing", "Picture", "pictures"]

_DRAWN: dict[str, Callable[[Evaluation], Picture | Nothing]] = {
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
    result: Evaluation, kinds: Sequence[str] | None = None, target: float | None = None
) -> Iterator[Picture | Nothing]:
    """The figures of a result, one after another: those asked for, or every kind, and those of traces if there are any.

    With a target, units a second, the sizes that reach it are marked.
    """
    for kind in KINDS if kinds is None else kinds:
        yield drawn(partial(capacity, result, target) if kind == "capacity" else partial(_DRAWN[kind], result))
    if kinds is None and result.folder.traces:
        yield from op_pictures(evaluate_ops(result.folder.traces))
