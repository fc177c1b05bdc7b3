"""A results folder evaluated, computed once for every table, figure and page. Pure.

Rows give points, fits and scaling limits; op traces give profiles, laws per op, what limits each workload, and which
workloads are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, groupby

from scaling.analysis.capacity import scaling_limits
from scaling.analysis.curves.fit import SeriesFit, by_settings, fit_all
from scaling.analysis.operations import ModePair, Stationarity, Threading, mode_pairs, stationarity, threadings
from scaling.analysis.ops.laws import (
    HeldOutStep,
    Loss,
    StepLaws,
    StepPrediction,
    held_out_steps,
    laws_of,
    loss,
    predict_step,
)
from scaling.analysis.ops.profile import Profile, part_times, profiles, subject
from scaling.analysis.ops.roofline import Rooflines
from scaling.analysis.ops.similarity import Linkage, Merge, Shares, merges, shares_of
from scaling.analysis.ops.traces import Trace
from scaling.analysis.rules import Verdict
from scaling.analysis.series import Series, SeriesKey, selected_series, series_key, table_launches
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.speedup import ScalingPoint, speedups
from scaling.analysis.summary import PointSelection, select_points, summarize
from scaling.errors import FitError
from scaling.results.processes import map_by_processes
from scaling.results.rows import launch_of
from scaling.results.store import Folder
from scaling.study.planning import Point

# The numbers of threads that the paper predicts from: one and two.
FEW = (1, 2)

# So many series are fitted by several processes.
MANY_SERIES = 8


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a results folder shows.

    `fits` has every series that can be fitted; `limits` has those that are sized (where threads share cores, the
    series with both thread counts replaces its parts). `selection` says which points the fits took, `complaints` why
    other series have no fit. `rooflines` has the networks whose ceilings were given.
    """

    folder: Folder
    points: tuple[ScalingPoint, ...]
    fits: tuple[SeriesFit, ...]
    limits: tuple[ScalingLimits, ...]
    sizes: Sizes | None
    selection: PointSelection
    complaints: tuple[FitError, ...]
    rooflines: Rooflines = field(default_factory=dict)


def evaluate(folder: Folder) -> Evaluation:
    """Evaluate a folder; disturbed points and those that are not valid stay out of the fits."""
    points = tuple(speedups(summarize(map(launch_of, folder.rows))))
    selection = select_points(point.summary for point in points)
    series = selected_series(selection)
    sizes = folder.machine.sizes() if folder.machine else None
    fits, limits, complaints = _fit_series(series, sizes)
    return Evaluation(
        folder=folder,
        points=points,
        fits=tuple(fits),
        limits=tuple(limits),
        sizes=sizes,
        selection=selection,
        complaints=tuple(complaints),
    )


def _fit_series(
    series: Sequence[Series], sizes: Sizes | None
) -> tuple[list[SeriesFit], list[ScalingLimits], list[FitError]]:
    """The fits of series, the limits of those that are sized, and why others have no fit."""

    def fit_and_size(levels: Sequence[Series]) -> tuple[list[SeriesFit], list[ScalingLimits], list[FitError]]:
        fits, complaints = fit_all(levels)
        return fits, [scaling_limits(one, sizes) for one in by_settings(fits)], complaints

    # SMT levels of the same settings are fitted together, since those of one size answer for each other.
    groups = [list(levels) for _, levels in groupby(series, key=lambda one: one.key.settings)]
    made = list(map_by_processes(fit_and_size, groups, least=MANY_SERIES))
    fits, limits, complaints = zip(*made, strict=True) if made else ((), (), ())
    return [*chain(*fits)], [*chain(*limits)], [*chain(*complaints)]


def evaluate_table(name: str, series: Sequence[Series], notes: Sequence[str]) -> Evaluation:
    """Evaluate the series of another tool's file: every run counts, and nothing is known of its machine."""
    points = tuple(speedups(summarize(table_launches(series))))
    fits, complaints = fit_all(series)
    return Evaluation(
        folder=Folder(name, (), None, None, None, notes=tuple(notes)),
        points=points,
        fits=tuple(fits),
        limits=tuple(scaling_limits(fit, None) for fit in fits),
        sizes=None,
        selection=PointSelection(tuple(point.summary for point in points), ()),
        complaints=tuple(complaints),
    )


def keys_of_series(evaluation: Evaluation) -> list[SeriesKey]:
    """The series of an evaluation with one number of threads per core each, in the order of its points."""
    return list(dict.fromkeys(series_key(point.summary.point) for point in evaluation.points))


def split_series(evaluation: Evaluation, most: int) -> list[Evaluation]:
    """The evaluation in parts of so many series each; SMT levels of the same settings stay together."""
    parts: list[list[SeriesKey]] = [[]]
    for _, levels in groupby(keys_of_series(evaluation), key=lambda key: key.settings):
        own = list(levels)
        if parts[-1] and len(parts[-1]) + len(own) > most:
            parts.append([])
        parts[-1] += own
    return [_of_series(evaluation, set(part)) for part in parts] if len(parts) > 1 else [evaluation]


def _of_series(evaluation: Evaluation, kept: set[SeriesKey]) -> Evaluation:
    """The evaluation with the points, fits and limits of some of its series only."""
    return replace(
        evaluation,
        points=tuple(point for point in evaluation.points if series_key(point.summary.point) in kept),
        fits=tuple(fit for fit in evaluation.fits if fit.series.key in kept),
        limits=tuple(limits for limits in evaluation.limits if limits.fit.series.key in kept),
    )


@dataclass(frozen=True, slots=True)
class Scaling:
    """The scaling of one subject over threads: laws of its parts, losses where it was traced, and held-out predictions.

    `predictions` come in pairs: by ops, and by the law of the whole step.
    """

    name: str
    threading: Threading
    laws: StepLaws
    losses: tuple[Loss, ...]
    held_out: tuple[HeldOutStep, ...]
    predictions: tuple[tuple[StepPrediction, StepPrediction], ...]

    @property
    def disturbed(self) -> tuple[int, ...]:
        """The numbers of threads on which too few launches were quiet."""
        return tuple(one.threads for one in self.threading.profiles if one.verdict is Verdict.DISTURBED)


@dataclass(frozen=True, slots=True)
class OpEvaluation:
    """The evaluation of a set of traces.

    `names` are those of the profiles, as short as distinguishes them; `alike` are the profiles that can be compared: of
    one mode, size and thread count, one per workload. `complaints` say why a subject has no laws.
    """

    traces: tuple[Trace, ...]
    profiles: tuple[Profile, ...]
    names: tuple[str, ...]
    stationarity: tuple[Stationarity, ...]
    pairs: tuple[ModePair, ...]
    scalings: tuple[Scaling, ...]
    alike: tuple[Profile, ...]
    complaints: tuple[FitError, ...]
    predicted_threads: tuple[int, ...]

    @property
    def shares(self) -> Shares:
        """The shares of the profiles that can be compared."""
        return shares_of({profile.point.workload: profile for profile in self.alike})

    def merges(self, linkage: Linkage) -> tuple[Merge, ...]:
        """The hierarchical clustering of these profiles."""
        return merges(self.shares, linkage) if self.alike else ()

    def name(self, profile: Profile) -> str:
        """The name of one of the profiles."""
        return self.names[self.profiles.index(profile)]


def evaluate_ops(traces: Sequence[Trace], predict: Sequence[int] = ()) -> OpEvaluation:
    """Evaluate traces; with numbers of threads to predict, the steps on them too."""
    traces = sorted(traces, key=_table_order)
    traced = tuple(profiles(traces))
    names = tuple(profile_names(traced))
    scalings, complaints = [], []
    for threading in threadings(traced):
        name = _without_threads(names[traced.index(threading.profiles[0])])
        try:
            scalings.append(_scaling(name, threading, traces, predict))
        except FitError as error:
            complaints.append(error)
    return OpEvaluation(
        traces=tuple(traces),
        profiles=traced,
        names=names,
        stationarity=tuple(stationarity(trace) for trace in traces if trace.steps),
        pairs=tuple(mode_pairs(traced)),
        scalings=tuple(scalings),
        alike=comparable(traced),
        complaints=tuple(complaints),
        predicted_threads=tuple(predict),
    )


def _scaling(name: str, threading: Threading, traces: Sequence[Trace], predict: Sequence[int]) -> Scaling:
    first = threading.profiles[0]
    key = first.subject, first.inter
    own = [trace for trace in traces if trace.steps and (subject(trace.point), trace.inter) == key]
    times = part_times(own)
    laws, whole = laws_of(times), laws_of(times.as_one())
    few = FEW if set(FEW) <= set(times.threads) else times.threads[:2]
    rest = times.threads[:-1]
    held = held_out_steps(times, few) if len(times.threads) > 2 else []
    if len(times.threads) > 3:
        held += held_out_steps(times, rest)
    return Scaling(
        name=name,
        threading=threading,
        laws=laws,
        losses=tuple(loss(laws, threads) for threads in times.threads if threads > 1),
        held_out=tuple(held),
        predictions=tuple((predict_step(laws, threads), predict_step(whole, threads)) for threads in predict),
    )


def comparable(candidates: Sequence[Profile]) -> tuple[Profile, ...]:
    """One profile per workload, all of one mode, size and number of threads: the combination most workloads have.

    Among equals training goes first, then the fewest threads, then the published size.
    """
    groups: dict[tuple[str, str, int], dict[str, Profile]] = {}
    for profile in candidates:
        key = profile.point.mode, profile.point.size, profile.threads
        groups.setdefault(key, {}).setdefault(profile.point.workload, profile)
    if not groups:
        return ()

    def rank(key: tuple[str, str, int]) -> tuple[int, bool, int, bool]:
        mode, size, threads = key
        return -len(groups[key]), mode != "train", threads, size != "published"

    return tuple(groups[min(groups, key=rank)].values())


def profile_names(named: Sequence[Profile]) -> list[str]:
    """A name for each profile: its workload, whatever else distinguishes it from the others, and its threads."""
    subjects = [profile.subject for profile in named]
    varied = [
        field.name
        for field in fields(Point)
        if field.name not in ("workload", "cores", "intra") and len({getattr(one, field.name) for one in subjects}) > 1
    ]
    return [
        " ".join([point.workload, *(_setting(name, getattr(point, name)) for name in varied), f"×{profile.threads}"])
        for profile, point in zip(named, subjects, strict=True)
    ]


def _table_order(trace: Trace) -> tuple[str, bool, str, int, int]:
    """Workloads by name, training before inference."""
    point = trace.point
    return point.workload, point.mode != "train", point.size, trace.threads, trace.launch


def _setting(name: str, value: object) -> str:
    return str(value) if name in ("mode", "size") else f"{name} {value}"


def _without_threads(name: str) -> str:
    return name.rpartition(" ×")[0]
