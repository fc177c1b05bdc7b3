"""Predictions of one machine from another, both ways, held against what each measured, for docs/fathom.md.

python -m benchmarks.machines docs/examples/ceilings-two docs/examples/profiles-now-two and \
    docs/examples/ceilings-sixteen docs/examples/profiles-now-sixteen docs/examples/profiles-composed-sixteen

The sizes of errors that an interval has are estimated without the network that is predicted; those of all networks,
which `scaling.features.profiling.kernel_errors` has, are printed too.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.fathom import markdown
from scaling.features.profiling.evaluation import OpEvaluation, evaluate_ops
from scaling.features.profiling.kernel_errors import ErrorSizes, error_sizes
from scaling.features.profiling.laws import StepPrediction
from scaling.features.profiling.machines import ElsewherePrediction, OtherMachine
from scaling.features.profiling.other_machine import predict_on
from scaling.features.profiling.profile import DRAWS
from scaling.reporting.words import duration, interval_alone, share
from scaling.results.traces import read_traces


@dataclass(frozen=True, slots=True)
class Machine:
    """The ceilings of a machine and its profiles."""

    ceilings: Path
    folders: tuple[Path, ...]
    profiles: OpEvaluation

    @property
    def threads(self) -> list[int]:
        """The numbers of threads that it was traced on."""
        return sorted({profile.threads for profile in self.profiles.profiles})


def machine(ceilings: Path, *folders: Path) -> Machine:
    """A machine by its folders."""
    return Machine(ceilings, folders, evaluate_ops([trace for folder in folders for trace in read_traces(folder)]))


def predict(
    here: Machine, there: Machine, sizes: dict[str, ErrorSizes] | None = None, draws: int = DRAWS
) -> OtherMachine:
    """All steps that the other machine measured, from the profiles of this one."""
    return predict_on(here.profiles, there.threads, here.ceilings, there.ceilings, there.folders, sizes, draws)


def sizes_of(both_ways: Iterable[OtherMachine], without: str | None = None) -> ErrorSizes:
    """The sizes of errors both ways, of all networks or without one."""
    ways = list(both_ways)
    errors = [[error for error in way.errors if error.network != without] for way in ways]
    return error_sizes(errors, ways[0].distance)


def table(other: OtherMachine) -> list[str]:
    """Every measured step beside its predictions."""
    rows = [
        (
            *(one.name, str(one.threads), duration(one.measured.seconds)),
            *(cell for predicted in (one.by_ceilings, one.by_networks) for cell in _cells(one, predicted)),
        )
        for one in other.predictions
        if one.measured
    ]
    headers = ("network", "threads", "measured", "by ceilings", "95 %", "error", "by other networks", "95 %", "error")
    return markdown(headers, rows)


def _cells(one: ElsewherePrediction, predicted: StepPrediction | None) -> tuple[str, ...]:
    if predicted is None:
        return "-", "", ""
    error = one.error(predicted)
    words = "-" if error is None else f"{100 * error:+.0f} %"
    interval = interval_alone(predicted.seconds, duration, unknown="-")
    return duration(predicted.seconds.value), interval, words if one.inside(predicted) else f"**{words}**"


def summary(predictions: Sequence[ElsewherePrediction]) -> list[str]:
    """The median error, the width of intervals and how many of them contain the measurement, by each prediction."""
    lines = []
    for title, predicted in {
        "by ceilings": [(one, one.by_ceilings) for one in predictions],
        "by other networks": [(one, one.by_networks) for one in predictions if one.by_networks],
    }.items():
        held = [(one, step) for one, step in predicted if one.measured]
        errors = [abs(error) for one, step in held for error in (one.error(step),) if error is not None]
        widths = [step.seconds.high / step.seconds.low for _, step in held if step.seconds.low and step.seconds.high]
        inside = sum(one.inside(step) is True for one, step in held)
        error = f"error {share(median(errors))} in the median, {share(max(errors))} at most"
        width = f"their ends differ by a factor of {median(widths):.1f} in the median"
        lines.append(f"{title}: {error}; {inside} of {len(held)} intervals contain the measurement; {width}")
    return lines


def main(*words: str) -> None:
    """Print the sizes of errors, then both ways."""
    between = words.index("and")
    one, other = (machine(*map(Path, folders)) for folders in (words[:between], words[between + 1 :]))
    first = [predict(one, other, draws=2), predict(other, one, draws=2)]
    networks = sorted({error.network for way in first for error in way.errors})
    print(f"distance {first[0].distance:.2f}; sizes of errors from all networks: {sizes_of(first)}\n")
    without = {network: sizes_of(first, network) for network in networks}
    rows = [
        (network, *(f"{size:.2f}" for size in (sizes.pair, sizes.network, sizes.doubling)))
        for network, sizes in without.items()
    ]
    print(*markdown(("without", "pair", "network", "doubling"), rows), "", sep="\n")
    for here, there in ((one, other), (other, one)):
        predicted = predict(here, there, without)
        print(f"### {here.ceilings.name} → {there.ceilings.name}\n", *table(predicted), "", sep="\n")
        print(*summary(predicted.predictions), *(f"- refused: {why}" for why in predicted.refusals), "", sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
