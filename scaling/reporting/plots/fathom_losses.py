"""What limits each workload: the ops in which its efficiency is lost, on the most threads it was traced with."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from scaling.analysis.ops.losses import Loss
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.fathom_classes import class_keys, segment
from scaling.reporting.plots.text import wrapped
from scaling.reporting.words import count, share
from scaling.results.op_evaluation import OpEvaluation

BAR_INCHES, WIDTH_INCHES = 0.36, 9.0


def op_losses(result: OpEvaluation) -> Drawing | NotDrawn:
    """A bar a subject: 100 % is the time beyond a perfect share of one thread's, cut by ops, the largest first."""
    found = [(each.name, each.losses[-1]) for each in result.scalings if each.losses and each.losses[-1].told]
    if not found:
        return NotDrawn("no workload was traced on so many threads that it lost efficiency for sure")
    caption = (
        "The efficiency lost on the most threads traced is the part of a step beyond a perfect share of the time on "
        "one thread; the bars say in which ops it is lost, the largest first, coloured by class. Ops that gained more "
        "than their share are left out."
    )
    return Drawing(caption, _figure(found))


def segments(found: Loss) -> list[tuple[str, str, float]]:
    """Name, class or kind, and percent of each part that lost something, the largest first."""
    lost = [part for part in found.parts if part.seconds > 0.0]
    whole = sum(part.seconds for part in lost)
    return [
        (part.name, part.op_class if part.is_op else part.name, 100.0 * part.seconds / whole)
        for part in lost
        if part.seconds >= 0.002 * whole
    ]


def _figure(found: Sequence[tuple[str, Loss]]) -> Figure:
    figure = Figure(figsize=(WIDTH_INCHES, 1.2 + BAR_INCHES * len(found)), layout="constrained")
    axes = figure.add_subplot()
    shown: set[str] = set()
    for place, (_, loss) in enumerate(found):
        left = 0.0
        for name, kind, percent in segments(loss):
            segment(axes, place, left, percent, kind, f"{name} {percent:.0f}")
            shown.add(kind)
            left += percent
    labels = [
        f"{wrapped(name, 20.0, 1)}, {count(loss.threads, 'thread')}: {share(loss.efficiency)} efficient"
        for name, loss in found
    ]
    axes.set_yticks(range(len(found)), labels)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("share of what is lost, %")
    axes.grid(False)
    axes.tick_params(axis="y", length=0.0)
    keys = class_keys(shown)
    figure.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 5))
    return figure
