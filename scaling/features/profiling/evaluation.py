"""Traces evaluated: profiles, laws per op, what limits each workload, and which workloads are alike. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from scaling.analysis.rules import Verdict
from scaling.analysis.traces import Trace
from scaling.errors import FitError
from scaling.features.profiling.laws import (
    HeldOutStep,
    Loss,
    StepLaws,
    StepPrediction,
    held_out_steps,
    laws_of,
    loss,
    predict_step,
)
from scaling.features.profiling.pairs import ModePair, Stationarity, Threading, mode_pairs, stationarity, threadings
from scaling.features.profiling.profile import Profile, part_times, profiles, subject
from scaling.features.profiling.similarity import Linkage, Merge, Shares, merges, shares_of
from scaling.study.planning import Point

# The numbers of threads that the paper predicts from: one and two.
FEW = (1, 2)


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
