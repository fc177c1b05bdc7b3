"""Figure 5 of the Fathom paper: what training adds to inference, class by class."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from scaling.analysis.operations import ModePair
from scaling.analysis.ops.classes import CLASSES
from scaling.analysis.ops.profile import OVERHEAD, UNEXPLAINED, Profile
from scaling.reporting.plots.drawing import Drawing, NotDrawn
from scaling.reporting.plots.fathom_classes import PARTS, class_keys, segment
from scaling.reporting.plots.style import SMALL_POINTS
from scaling.reporting.plots.text import wrapped
from scaling.reporting.words import count, duration
from scaling.results.op_evaluation import OpEvaluation

BAR_INCHES = 0.24


def op_modes(result: OpEvaluation) -> Drawing | NotDrawn:
    """A bar for training and one for inference of every workload, on the fewest threads both were traced with."""
    by_name: dict[str, ModePair] = {}
    for pair in sorted(result.pairs, key=lambda pair: pair.train.threads):
        by_name.setdefault(f"{pair.train.point.workload} {pair.train.point.size}", pair)
    pairs = list(by_name.values())
    if not pairs:
        return NotDrawn("no workload was traced on as many threads both in training and in inference")
    caption = (
        "Time an item takes in each mode, in percent of training, by the class of its ops "
        f"({count(pairs[0].train.threads, 'thread')}); at the end of a bar, how long that is."
    )
    return Drawing(caption, _figure(pairs))


def class_percents(profile: Profile, whole_seconds: float) -> dict[str, float]:
    """The parts of an item's time in percent of a whole."""
    parts: dict[str, float] = {kind: profile.class_share(kind) * profile.op_seconds for kind in CLASSES}
    parts |= {OVERHEAD: profile.overhead_seconds, UNEXPLAINED: max(profile.unexplained_seconds, 0.0)}
    return {name: 100.0 * seconds / profile.items_per_step / whole_seconds for name, seconds in parts.items()}


def _figure(pairs: Sequence[ModePair]) -> Figure:
    figure = Figure(figsize=(8.5, 1.5 + 2.4 * BAR_INCHES * len(pairs)), layout="constrained")
    axes = figure.add_subplot()
    shown: set[str] = set()
    ticks, labels = [], []
    for place, pair in enumerate(pairs):
        whole = pair.train.wall_seconds / pair.train.items_per_step
        for offset, mode, profile in ((0.0, "train", pair.train), (1.0, "infer", pair.infer)):
            middle = 2.6 * place + offset
            percents = class_percents(profile, whole)
            left = 0.0
            for name in [name for name in PARTS if percents[name] > 0.0]:
                segment(axes, middle, left, percents[name], name, name)
                left += percents[name]
                shown.add(name)
            end = 100.0 * profile.wall_seconds / profile.items_per_step / whole
            seconds = duration(profile.wall_seconds / profile.items_per_step)
            axes.text(end + 1.0, middle, seconds, va="center", ha="left", fontsize=SMALL_POINTS - 0.5)
            ticks.append(middle)
            labels.append(f"{wrapped(pair.train.point.workload, 18.0, 1)} {mode}")
    axes.set_yticks(ticks, labels)
    axes.set_ylim(ticks[-1] + 0.8, -0.8)
    axes.set_xlim(0.0, max(114.0, axes.get_xlim()[1] + 14.0))
    axes.set_xlabel("time of an item, % of training")
    axes.grid(False)
    axes.tick_params(axis="y", length=0.0)
    keys = class_keys(shown)
    figure.legend(handles=keys, loc="outside lower center", ncols=min(len(keys), 5))
    return figure
