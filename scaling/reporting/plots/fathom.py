"""The figures of traced runs, by name: those of the Fathom paper (IISWC 2016) for any workload, and what limits it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from scaling.reporting.plots.drawing import drawn
from scaling.reporting.plots.fathom_likeness import op_likeness
from scaling.reporting.plots.fathom_losses import op_losses
from scaling.reporting.plots.fathom_modes import op_modes
from scaling.reporting.plots.fathom_shares import op_shares
from scaling.reporting.plots.fathom_steps import op_steps
from scaling.reporting.plots.fathom_tail import op_tail
from scaling.reporting.plots.fathom_threads import op_threads
from scaling.reporting.plots.picture import Nothing, Picture
from scaling.results.op_evaluation import OpEvaluation

_DRAWN: dict[str, Callable[[OpEvaluation], Picture | Nothing]] = {
    "op-steps": op_steps,
    "op-tail": op_tail,
    "op-shares": op_shares,
    "op-likeness": op_likeness,
    "op-modes": op_modes,
    "op-threads": op_threads,
    "op-losses": op_losses,
}
OP_KINDS: tuple[str, ...] = tuple(_DRAWN)


def op_pictures(result: OpEvaluation, kinds: Sequence[str] = OP_KINDS) -> Iterator[Picture | Nothing]:
    """The figures of traced runs, one after another."""
    for kind in kinds:
        yield drawn(partial(_DRAWN[kind], result))
