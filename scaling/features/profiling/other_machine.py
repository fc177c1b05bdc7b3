"""Steps on another machine: profiles of this one, the ceilings of both, and what the other has measured."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scaling.analysis.estimates import Estimate, location
from scaling.analysis.roofline import MATMUL, STREAM, UNITS, ceiling_rates
from scaling.analysis.summary import summarize
from scaling.errors import FitError, StoreError
from scaling.features.profiling.evaluation import OpEvaluation, Scaling
from scaling.features.profiling.kernel_errors import ERROR_SIZES, ErrorSizes, offsets
from scaling.features.profiling.laws import StepPrediction
from scaling.features.profiling.machines import (
    COMPUTE,
    MEMORY,
    Ceiling,
    CeilingLaws,
    ElsewherePrediction,
    MachineSpeeds,
    MeasuredStep,
    OtherMachine,
    ceiling_laws,
    distance,
    errors_of,
    of_one_kind,
    predict_elsewhere,
    uncovered_ops,
)
from scaling.features.profiling.profile import DRAWS, OVERHEAD, UNEXPLAINED, Profile, profiles
from scaling.results.rows import Row, launch_of
from scaling.results.store import read_rows
from scaling.results.traces import TRACES, read_traces

CEILINGS: dict[str, Ceiling] = {MATMUL: COMPUTE, STREAM: MEMORY}
# A process that imports TensorFlow takes longer than this; one that was forked has it already.
LEAST_IMPORT_SECONDS = 0.5

# A workload, its mode, its size and its items per step: what a step must have in common on both machines.
StepKey = tuple[str, str, str, int]
Measured = dict[StepKey, dict[int, MeasuredStep]]


def read_speeds(folder: Path) -> MachineSpeeds:
    """The ceilings of the one machine whose rows a folder has, and how fast one of its cores is."""
    rows = list(read_rows(folder))
    if len({row.machine.fingerprint for row in rows}) > 1:
        raise StoreError(f"the rows of {folder} come from several machines; a ceiling holds for one")
    rates = ceiling_rates(summarize(map(launch_of, rows)))
    if not rates:
        raise StoreError(f"{folder} has no ceilings; measure them with scaling sweep ceilings -o {folder}")
    by_ceiling = {
        cores: {
            CEILINGS[name]: _per_second(summary.rate, UNITS[name]) for name, summary in best.items() if summary.rate
        }
        for cores, best in rates.items()
    }
    imports = [1 / seconds for seconds in map(_import_seconds, rows) if seconds]
    return MachineSpeeds(str(folder), by_ceiling, location(imports) if imports else None)


def _per_second(items: Estimate, unit: float) -> Estimate:
    return items.map(lambda rate: rate * unit)


def _import_seconds(row: Row) -> float | None:
    """How long one core took to import TensorFlow; None where it did not."""
    point, seconds = row.run.point, row.outcome.sections.imports
    of_one_core = point.workload == MATMUL and point.cores == 1 and row.outcome.status == "ok"
    return seconds if of_one_core and seconds and seconds >= LEAST_IMPORT_SECONDS else None


def read_measured(folders: Sequence[Path]) -> Measured:
    """The steps that folders have: traced ones where there are traces, otherwise plain ones."""
    steps: Measured = defaultdict(dict)
    for folder in folders:
        for key, by_threads in _read_steps(folder).items():
            steps[key] |= by_threads
    return steps


def _read_steps(folder: Path) -> Measured:
    steps: Measured = defaultdict(dict)
    if (folder / TRACES.file).exists():
        for one in profiles(read_traces(folder)):
            key = one.point.workload, one.point.mode, one.point.size, one.items_per_step
            steps[key][one.threads] = MeasuredStep(one.wall_seconds, _parts(one))
        return steps
    for summary in summarize(map(launch_of, read_rows(folder))):
        if summary.step and summary.items:
            point = summary.point
            key = point.workload, point.mode, point.size, summary.items
            steps[key][point.cores] = MeasuredStep(summary.step.value, None)
    return steps


def _parts(profile: Profile) -> dict[str, float]:
    ops = {op.type: op.seconds for op in profile.ops}
    return {**ops, OVERHEAD: profile.overhead_seconds, UNEXPLAINED: profile.unexplained_seconds}


@dataclass(frozen=True, slots=True)
class _ByCeilings:
    """A network's step predicted by ceilings alone, with its laws and what was measured."""

    name: str
    network: str
    laws: CeilingLaws
    predicted: StepPrediction
    measured: MeasuredStep | None


def predict_on(
    result: OpEvaluation,
    threads: Sequence[int],
    here: Path,
    there: Path,
    measured: Sequence[Path] = (),
    sizes: Mapping[str, ErrorSizes] | None = None,
    draws: int = DRAWS,
) -> OtherMachine:
    """Predict the steps of every subject of a profile on some threads of another machine.

    A network is also predicted as the others were off there, if any were measured: never from its own measurement.
    Sizes of errors, by network, are those of the examples unless given.
    """
    speeds_here, speeds_there = of_one_kind(read_speeds(here), read_speeds(there))
    steps = read_measured(measured)
    first, refusals = [], [str(complaint) for complaint in result.complaints]
    refusals += [f"{name}: traced on one number of threads, so there is no law" for name in _without_laws(result)]
    of_network = sizes or {}
    for scaling in result.scalings:
        try:
            laws = ceiling_laws(scaling.laws.times, speeds_here, draws)
        except FitError as error:
            refusals.append(f"{scaling.name}: {error}")
            continue
        network = _network(scaling)
        for count in threads:
            try:
                held = _measured_step(scaling, steps, count)
                by_ceilings = predict_elsewhere(laws, speeds_there, count, sizes=of_network.get(network, ERROR_SIZES))
                first.append(_ByCeilings(scaling.name, network, laws, by_ceilings, held))
            except FitError as error:
                refusals.append(f"{scaling.name} on {count} threads: {error}")
    apart = distance(speeds_here, speeds_there)
    errors = [
        error
        for one in first
        if one.measured
        for error in errors_of(one.network, one.laws, one.predicted, one.measured)
    ]
    predictions = []
    for one in first:
        own_sizes = of_network.get(one.network, ERROR_SIZES)
        others = [error for error in errors if error.network != one.network]
        known = offsets(others, one.predicted.threads, own_sizes, apart)
        by_networks = (
            predict_elsewhere(one.laws, speeds_there, one.predicted.threads, known, own_sizes) if known else None
        )
        predictions.append(ElsewherePrediction(one.name, one.predicted, by_networks, one.measured))
    return OtherMachine(tuple(predictions), tuple(refusals), apart, tuple(errors))


def _network(scaling: Scaling) -> str:
    """The network of a subject, whatever its options and mode."""
    return scaling.threading.profiles[0].point.workload.split()[0]


def _without_laws(result: OpEvaluation) -> list[str]:
    several = {profile for scaling in result.scalings for profile in scaling.threading.profiles}
    return [name for name, profile in zip(result.names, result.profiles, strict=True) if profile not in several]


def _measured_step(scaling: Scaling, steps: Measured, threads: int) -> MeasuredStep | None:
    """What was measured of a subject; refused where it was of another size or batch, or has ops not profiled here."""
    first = scaling.threading.profiles[0]
    point = first.point
    key = point.workload, point.mode, point.size, first.items_per_step
    others = [other for other in steps if other[:2] == key[:2]]
    if others and key not in steps:
        sizes = ", ".join(f"size {size} with {items} items" for _, _, size, items in others)
        raise FitError(f"it was profiled at size {key[2]} with {key[3]} items, and measured at {sizes}")
    found = steps.get(key, {}).get(threads)
    missing = uncovered_ops(scaling.laws.times.names, found.op_shares) if found else {}
    if missing:
        raise FitError(
            f"{100 * sum(missing.values()):.0f} % of its op time there is ops that were not profiled here "
            f"({', '.join(sorted(missing))})"
        )
    return found
