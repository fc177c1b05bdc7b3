"""Predictions of one machine from another, in both directions, beside measurements, for docs/reproductions/fathom.md.

python -m benchmarks.machines docs/examples/ceilings-two docs/examples/profiles-now-two and \
    docs/examples/ceilings-sixteen docs/examples/profiles-now-sixteen docs/examples/profiles-composed-sixteen

The sizes of errors that an interval has are estimated without the network that is predicted; those of all networks,
which `scaling.features.profiling.other_machine` has, are printed too. They are estimated by moments (analysis of
variance; Searle, Casella & McCulloch 1992) about zero, since which of two machines is predicted from the other is
arbitrary. A network counts once in a class, and an error weighs as its class does in the steps.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.shared.tables import markdown
from scaling.errors import FitError
from scaling.features.profiling.evaluation import OpEvaluation, evaluate_ops
from scaling.features.profiling.laws import StepPrediction
from scaling.features.profiling.library import read_machines
from scaling.features.profiling.other_machine import (
    ClassError,
    ElsewherePrediction,
    ErrorSizes,
    OtherMachine,
    class_errors,
    mean_errors,
    predict_on,
)
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
    read = read_machines(here.ceilings, there.ceilings, there.folders)
    return predict_on(here.profiles, there.threads, *read, sizes, draws)


def sizes_of(both_ways: Iterable[OtherMachine], without: str | None = None) -> ErrorSizes:
    """The sizes of errors both ways, of all networks or without one."""
    ways = list(both_ways)
    errors = [[error for error in _errors(way) if error.network != without] for way in ways]
    return error_sizes(errors, ways[0].distance)


def _errors(way: OtherMachine) -> list[ClassError]:
    return [error for one in way.predictions for error in class_errors(one)]


class _OfClass(NamedTuple):
    """A class of ops one way: the mean and variance of its networks' errors, and how many networks would tell as much
    if all weighed the same (Kish 1965)."""

    group: str
    networks: int
    weight: float
    effective: float
    mean: float
    variance: float


def error_sizes(ways: Sequence[Sequence[ClassError]], distance: float) -> ErrorSizes:
    """The sizes of errors on machines at a distance, from one way or both, of which a class has two networks."""
    classes = [of_class for way in ways for of_class in _by_class(way)]
    several = [one for one in classes if one.networks > 1]
    if not several or not distance:
        raise FitError("prediction errors need at least two networks and two different machines")
    network = float(np.average([one.variance for one in several], weights=[one.weight for one in several]))
    common = [one.mean**2 - network / one.effective for one in classes]
    pair = max(float(np.average(common, weights=[one.weight for one in classes])), 0.0)
    beyond = [error for way in ways for error in way if error.doublings]
    excess = sum(error.weight * (error.log_error**2 - pair - network) * error.doublings for error in beyond)
    doubling = excess / sum(error.weight * error.doublings**2 for error in beyond) if beyond else 0.0
    freedom = len({one.group for one in classes})
    return ErrorSizes(sqrt(pair) / distance, sqrt(network) / distance, sqrt(max(doubling, 0.0)), freedom)


def _by_class(errors: Iterable[ClassError]) -> Iterator[_OfClass]:
    """The classes of a way, from errors on traced numbers of threads."""
    for group, means in mean_errors(error for error in errors if not error.doublings).items():
        values, weights = (np.array([getattr(one, name) for one in means]) for name in ("log_error", "weight"))
        mean, effective = float(np.average(values, weights=weights)), float(weights.sum() ** 2 / np.sum(weights**2))
        about = float(np.average((values - mean) ** 2, weights=weights))
        variance = about / (1 - 1 / effective) if len(values) > 1 else nan
        yield _OfClass(group, len(values), float(weights.sum()), effective, mean, variance)


def table(other: OtherMachine) -> list[str]:
    """Every measured step beside its predictions."""
    rows = [
        (
            *(one.name, str(one.by_ceilings.threads), duration(one.measured.seconds)),
            *(cell for predicted in (one.by_ceilings, one.by_networks) for cell in _cells(predicted)),
        )
        for one in other.predictions
        if one.measured
    ]
    headers = ("network", "threads", "measured", "by ceilings", "95 %", "error", "by other networks", "95 %", "error")
    return markdown(headers, rows)


def _cells(predicted: StepPrediction | None) -> tuple[str, ...]:
    if predicted is None:
        return "-", "", ""
    words = "-" if predicted.error is None else f"{100 * predicted.error:+.0f} %"
    interval = interval_alone(predicted.seconds, duration, unknown="-")
    return duration(predicted.seconds.value), interval, words if predicted.inside else f"**{words}**"


def summary(predictions: Sequence[ElsewherePrediction]) -> list[str]:
    """The median error, the width of intervals and how many of them contain the measurement, by each prediction."""
    lines = []
    for title, predicted in {
        "by ceilings": [one.by_ceilings for one in predictions],
        "by other networks": [one.by_networks for one in predictions if one.by_networks],
    }.items():
        held = [step for step in predicted if step.measured]
        errors = [abs(step.error) for step in held if step.error is not None]
        widths = [step.seconds.high / step.seconds.low for step in held if step.seconds.low and step.seconds.high]
        inside = sum(step.inside is True for step in held)
        error = f"median error {share(median(errors))}, at most {share(max(errors))}"
        width = f"the median ratio of their ends is {median(widths):.1f}"
        lines.append(f"{title}: {error}; {inside} of {len(held)} intervals contain the measurement; {width}")
    return lines


def main(*words: str) -> None:
    """Print the sizes of errors, then both ways."""
    between = words.index("and")
    one, other = (machine(*map(Path, folders)) for folders in (words[:between], words[between + 1 :]))
    first = [predict(one, other, draws=2), predict(other, one, draws=2)]
    networks = sorted({error.network for way in first for error in _errors(way)})
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
