"""The tables of docs/reproductions/fathom.md from a folder of profiles: measured values beside the Fathom paper's.

python -m benchmarks.fathom docs/examples/profiles-small
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.shared.fathom import COLUMNS, FIGURE_3
from benchmarks.shared.tables import markdown
from scaling.analysis.traces import CLASSES, PURPOSES, op_class
from scaling.features.profiling.evaluation import (
    LINKAGES,
    Linkage,
    Merge,
    OpEvaluation,
    evaluate_ops,
    merges,
    shares_in,
)
from scaling.features.profiling.pairs import outside_ops, types_for
from scaling.features.profiling.profile import Profile
from scaling.features.profiling.report import op_loss_sentences
from scaling.reporting.words import duration, share
from scaling.results.traces import read_traces


def beside_the_paper(profiles: Sequence[Profile]) -> list[str]:
    """Figure 3: the percent of the paper and the measured one, then the op types for which it has no column."""
    theirs_first = [
        (name, *(_pair(FIGURE_3[profile.point.workload].get(name, 0), profile.share(name)) for profile in profiles))
        for name in COLUMNS
    ]
    ours_only = sorted({op.type for profile in profiles for op in profile.ops if op.share >= 0.02} - set(COLUMNS))
    ours = [(f"*{name}*", *(_pair(0, profile.share(name)) for profile in profiles)) for name in ours_only]
    return markdown(("op type", *(profile.point.workload for profile in profiles)), [*theirs_first, *ours])


def _pair(theirs: float, ours: float) -> str:
    percent = f"{100 * ours:.0f}"
    return "" if not theirs and percent == "0" else f"{theirs} → {percent}"


def classes(profiles: Sequence[Profile]) -> list[str]:
    """The classes, the paper's percent and the measured one, the types for 90 %, and the distance of the rows."""
    rows = []
    for profile in profiles:
        theirs = FIGURE_3[profile.point.workload]
        by_class = {group: sum(value for name, value in theirs.items() if op_class(name) == group) for group in CLASSES}
        distance = shares_in({"ours": {op.type: op.share for op in profile.ops}, "theirs": theirs}).distance(0, 1)
        cells = [_pair(by_class[group], profile.class_share(group)) for group in CLASSES if group != "other"]
        rows.append((profile.point.workload, *cells, str(types_for(profile)), f"{distance:.2f}"))
    names = [group for group in CLASSES if group != "other"]
    return markdown(("network", *names, "types for 90 %", "distance"), rows)


def similarity(result: OpEvaluation) -> list[str]:
    """Figure 4: the order of clustering, of the paper's table and of the measured profiles."""
    rows = []
    for linkage in LINKAGES:
        theirs = merges(shares_in({name: FIGURE_3[name] for name in result.shares.names}), linkage)
        rows += [
            (linkage, _joined(one), _joined(other)) for one, other in zip(theirs, _ours(result, linkage), strict=True)
        ]
    return markdown(("linkage", "paper's table", "measured"), rows)


def _ours(result: OpEvaluation, linkage: Linkage) -> tuple[Merge, ...]:
    return result.merges(linkage)


def _joined(merge: Merge) -> str:
    left, right = ("+".join(sorted(names)) for names in (merge.left, merge.right))
    return f"{left} – {right} {merge.distance:.3f}"


def outside(profiles: Sequence[Profile]) -> list[str]:
    """What of a step lies outside ops."""
    rows = [
        (profile.point.workload, duration(profile.wall_seconds), *map(share, outside_ops(profile)))
        for profile in profiles
    ]
    return markdown(("network", "traced step", "framework overhead", "unexplained"), rows)


def modes(result: OpEvaluation) -> list[str]:
    """Figure 5: how many times as long an item takes in training, on the fewest threads."""
    fewest = min((pair.train.threads for pair in result.pairs), default=1)
    rows = [
        (
            pair.train.point.workload,
            f"{pair.ratio:.1f}",
            *(share(profile.class_share("convolution")) for profile in (pair.train, pair.infer)),
        )
        for pair in result.pairs
        if pair.train.threads == fewest
    ]
    return markdown(("network", "training / inference", "convolution in training", "in inference"), rows)


def threads(result: OpEvaluation) -> list[str]:
    """Figure 6: the shares of optimiser and loss on the fewest and the most threads, and the efficiency there."""
    rows = []
    for scaling in result.scalings:
        first, last = scaling.profiles[0], scaling.profiles[-1]
        if first.point.mode == "train":
            shares = [_update_and_loss(one) for one in (first, last)]
            rows.append((scaling.name, str(last.threads), *shares, share(scaling.losses[-1].efficiency)))
    return markdown(("network", "threads", "optimiser, loss on one thread", "on the most threads", "efficiency"), rows)


def _update_and_loss(profile: Profile) -> str:
    """The shares of optimizer and loss by scope; where the traces do not tell, that of the class of updates."""
    optimizer, loss = profile.purpose_share("optimizer"), profile.purpose_share("loss")
    if optimizer is None or loss is None:
        return f"{share(profile.class_share('optimisation'))}, unknown"
    return f"{share(optimizer)}, {share(loss)}"


def purposes(profiles: Sequence[Profile]) -> list[str]:
    """The percent of op time of every purpose."""
    told = [(profile, seconds) for profile in profiles for seconds in (profile.purpose_seconds,) if seconds]
    rows = [
        (
            profile.point.workload,
            *(_whole_percent(seconds.get(purpose, 0.0) / profile.op_seconds) for purpose in PURPOSES),
        )
        for profile, seconds in told
    ]
    return markdown(("network", *PURPOSES), rows)


def _whole_percent(ratio: float) -> str:
    return f"{100 * ratio:.0f}" if ratio >= 0.005 else ""


def limits(result: OpEvaluation) -> list[str]:
    """What limits each network on the most threads."""
    return [f"- {op_loss_sentences(scaling)[-1]}" for scaling in result.scalings]


def predictions(result: OpEvaluation) -> list[str]:
    """Held-out numbers of threads: the error by ops and by the whole step's law."""
    rows = [
        (
            *(scaling.name, ", ".join(map(str, held.fitted_on)), str(held.by_ops.threads)),
            duration(held.by_ops.measured or 0.0),
            *(f"{100 * (one.error or 0.0):+.0f} %" for one in (held.by_ops, held.by_step)),
            {None: "-", True: "inside", False: "outside"}[held.by_ops.inside],
        )
        for scaling in result.scalings
        for held in scaling.held_out
    ]
    headers = (
        "network",
        "from threads",
        "to",
        "measured",
        "error of op-level laws",
        "of the whole-step law",
        "interval of op-level laws",
    )
    return markdown(headers, rows)


def main(folder: Path) -> None:
    """Print every table."""
    result = evaluate_ops(read_traces(folder))
    for title, lines in {
        "Figure 3, percent of op time, paper → measured": beside_the_paper(result.alike),
        "Classes, paper → measured": classes(result.alike),
        "Purposes, percent of op time": purposes(result.alike),
        "Outside ops": outside(result.alike),
        "Figure 4, order of clustering": similarity(result),
        "Figure 5, training against inference": modes(result),
        "Figure 6, threads": threads(result),
        "Losses of efficiency": limits(result),
        "Predictions of held-out numbers of threads": predictions(result),
    }.items():
        print(f"### {title}\n", *lines, "", sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
