"""Op traces evaluated: profiles, laws per op, what limits each workload, and which are alike. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

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
from scaling.analysis.ops.profile import Profile, profiles, subject
from scaling.analysis.ops.similarity import Linkage, Merge, Shares, merges, shares_of
from scaling.analysis.ops.times import part_times
from scaling.analysis.ops.traces import Trace
from scaling.errors import FitError
from scaling.study.planning import Point

# What the paper's own promise was made from: one core and two.
FEW = (1, 2)


@dataclass(frozen=True, slots=True)
class Scaling:
    """What one subject's threads tell: laws of its parts, losses where it was traced, and what fewer threads foretell.

    `predictions` come in pairs: by ops, and by the law of the whole step.
    """

    name: str
    threading: Threading
    laws: StepLaws
    losses: tuple[Loss, ...]
    held_out: tuple[HeldOutStep, ...]
    predictions: tuple[tuple[StepPrediction, StepPrediction], ...]


@dataclass(frozen=True, slots=True)
class OpEvaluation:
    """What a set of traces shows.

    `names` are the profiles' own, as short as tells them apart; `alike` are the profiles that can be compared: of one
    mode, size and thread count, one per workload. `complaints` say why a subject has no laws.
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
        return shares_of({each.point.workload: each for each in self.alike})

    def merges(self, linkage: Linkage) -> tuple[Merge, ...]:
        """Who of them joins whom."""
        return merges(self.shares, linkage) if self.alike else ()

    def name(self, profile: Profile) -> str:
        """The name of one of the profiles."""
        return self.names[self.profiles.index(profile)]


def evaluate_ops(traces: Sequence[Trace], predict: Sequence[int] = ()) -> OpEvaluation:
    """Everything that traces tell; with numbers of threads to predict, the steps on them too."""
    traces = sorted(traces, key=_in_a_table)
    found = tuple(profiles(traces))
    names = tuple(profile_names(found))
    scalings, complaints = [], []
    for threading in threadings(found):
        name = _without_threads(names[found.index(threading.profiles[0])])
        try:
            scalings.append(_scaling(name, threading, traces, predict))
        except FitError as error:
            complaints.append(error)
    return OpEvaluation(
        traces=tuple(traces),
        profiles=found,
        names=names,
        stationarity=tuple(stationarity(each) for each in traces if each.steps),
        pairs=tuple(mode_pairs(found)),
        scalings=tuple(scalings),
        alike=comparable(found),
        complaints=tuple(complaints),
        predicted_threads=tuple(predict),
    )


def _scaling(name: str, threading: Threading, traces: Sequence[Trace], predict: Sequence[int]) -> Scaling:
    first = threading.profiles[0]
    own = [each for each in traces if subject(each.point) == first.subject and each.inter == first.inter and each.steps]
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


def comparable(found: Sequence[Profile]) -> tuple[Profile, ...]:
    """One profile a workload, all of one mode, size and number of threads: the combination most workloads have.

    Between equals training goes first, then the fewest threads, then the published size.
    """
    groups: dict[tuple[str, str, int], dict[str, Profile]] = {}
    for each in found:
        key = each.point.mode, each.point.size, each.threads
        groups.setdefault(key, {}).setdefault(each.point.workload, each)
    if not groups:
        return ()

    def rank(key: tuple[str, str, int]) -> tuple[int, bool, int, bool]:
        mode, size, threads = key
        return -len(groups[key]), mode != "train", threads, size != "published"

    return tuple(groups[min(groups, key=rank)].values())


def profile_names(found: Sequence[Profile]) -> list[str]:
    """A name for each profile: its workload, whatever else tells it from the others, and its threads."""
    subjects = [each.subject for each in found]
    varied = [
        field.name
        for field in fields(Point)
        if field.name not in ("workload", "cores", "intra") and len({getattr(one, field.name) for one in subjects}) > 1
    ]
    return [
        " ".join([point.workload, *(_setting(name, getattr(point, name)) for name in varied), f"×{each.threads}"])
        for each, point in zip(found, subjects, strict=True)
    ]


def _in_a_table(trace: Trace) -> tuple[str, bool, str, int, int]:
    """Workloads by name, training before inference."""
    point = trace.point
    return point.workload, point.mode != "train", point.size, trace.threads, trace.launch


def _setting(name: str, value: object) -> str:
    return str(value) if name in ("mode", "size") else f"{name} {value}"


def _without_threads(name: str) -> str:
    return name.rpartition(" ×")[0]
