"""Traces of a point as one profile: where the time of a step goes, op type by op type. Pure.

A profile is of the middle half of a launch's steps by wall time, so that a disturbed step does not count; all parts are
taken from the same steps, so that op time, the framework's time between ops and the unexplained rest add up to the wall
time. Several launches are averaged. Names that mean the same op are summed.

Over several numbers of threads the parts have bootstrap draws. What slows a launch slows many ops at once, so a draw
scatters all parts together: it is a random mixture of the measured deviations, which has their covariance, over a
scaled inverse χ², which widens the intervals of few launches. With one launch per count nothing is known of noise, and
there are no intervals.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, inf, sqrt
from statistics import fmean, median, stdev

import numpy as np

from scaling.analysis import rules
from scaling.analysis.arrays import Floats
from scaling.analysis.estimates import student_t
from scaling.analysis.op_classes import CLASSES, OpClass, one_name, op_class
from scaling.analysis.purposes import PURPOSES, Purpose
from scaling.analysis.rules import Verdict
from scaling.analysis.traces import Trace, TracedStep, traces_by_point
from scaling.errors import FitError, need
from scaling.study.planning import Point

# Parts of a step that are no op, by names no op has.
OVERHEAD = "framework overhead"
UNEXPLAINED = "unexplained"
NOT_OPS = (OVERHEAD, UNEXPLAINED)

# Fewer launches do not show how launches differ.
LEAST_LAUNCHES = 3
# Launches whose shares differ by four percentage points need about ten to be known to two; what is not known after this
# many needs a quieter machine.
MOST_LAUNCHES = 24
DRAWS = 1000
SEED = 20260101
# A package, its extra, and what needs it.
SCIPY = "scipy", "report", "profiles"
# The resolution of a clock: a part that never ran at some count took less than this, and has a logarithm.
LEAST_SECONDS = 1e-9
# However noisy a part, a draw keeps at least this share of its time.
LEAST_LEFT = 1e-3
WHOLE_STEP = "whole step"


@dataclass(frozen=True, slots=True)
class OpShare:
    """An op type in a profile: seconds and executions per step, its share of all op time, and seconds by purpose.

    `least` and `most` are the shares it has in single launches, `reproducibility` is how far the share of a profile of
    as many launches may lie from this one, 95 times of 100; None with fewer than three.
    """

    type: str
    op_class: OpClass
    seconds: float
    share: float
    executions: float
    least: float
    most: float
    reproducibility: float | None
    purposes: Mapping[Purpose, float] = field(default_factory=dict, hash=False)

    @property
    def main_purpose(self) -> Purpose | None:
        """What it is for most of the time; None where the traces do not tell."""
        return max(self.purposes, key=lambda purpose: self.purposes[purpose], default=None)

    @property
    def share_uncertainty(self) -> float:
        """How uncertain its share is: its reproducibility, or the range over too few launches."""
        return self.most - self.least if self.reproducibility is None else self.reproducibility


@dataclass(frozen=True, slots=True)
class Profile:
    """The step of one point by op type, those with the most time first, over its launches, `quiet` or not.

    With more than one inter-op thread ops overlap, and their sum has `overlap_seconds` too much.
    """

    point: Point
    threads: int
    inter: int
    items_per_step: int
    ops: tuple[OpShare, ...]
    overhead_seconds: float
    unexplained_seconds: float
    overlap_seconds: float
    wall_seconds: float
    plain_seconds: float | None
    launches: int
    quiet: int
    steps: int

    @property
    def verdict(self) -> Verdict:
        """What it can be used for, as of a point: too few launches are few, or the others were disturbed."""
        if self.quiet >= rules.FEW_LAUNCHES.limit:
            return Verdict.OK
        return Verdict.IMPRECISE if self.quiet == self.launches else Verdict.DISTURBED

    @property
    def op_seconds(self) -> float:
        """The sum of the times of all ops, per step."""
        return sum(op.seconds for op in self.ops)

    @property
    def busy_seconds(self) -> float:
        """Time during which at least one op ran, per step."""
        return self.op_seconds - self.overlap_seconds

    @property
    def stretch(self) -> float | None:
        """How much longer a step takes for being traced: 1.1 is a tenth longer."""
        return self.wall_seconds / self.plain_seconds if self.plain_seconds else None

    @property
    def reproducibility(self) -> float | None:
        """How far such a profile may lie from this one in the share of the least sure op; fewer than three launches do
        not tell."""
        known = [op.reproducibility for op in self.ops if op.reproducibility is not None]
        return max(known) if known else None

    @property
    def subject(self) -> Point:
        """What was traced, whatever the threads: the same for all profiles that differ in them alone."""
        return subject(self.point)

    def share(self, op_type: str) -> float:
        """The share of op time of a type, 0 where it never ran."""
        return next((op.share for op in self.ops if op.type == op_type), 0.0)

    def class_share(self, op_class: OpClass) -> float:
        """The share of op time of a class."""
        return sum(op.share for op in self.ops if op.op_class == op_class)

    @property
    def purpose_seconds(self) -> dict[Purpose, float] | None:
        """Seconds per step for every purpose there is, in their usual order; None where the traces do not tell."""
        seconds = {
            purpose: fsum(op.purposes[purpose] for op in self.ops if purpose in op.purposes) for purpose in PURPOSES
        }
        return {purpose: total for purpose, total in seconds.items() if total} or None

    def purpose_share(self, purpose: Purpose) -> float | None:
        """The share of op time for a purpose; None where the traces do not tell."""
        seconds = self.purpose_seconds
        return None if seconds is None else seconds.get(purpose, 0.0) / self.op_seconds

    @property
    def class_shares(self) -> dict[OpClass, float]:
        """The share of op time of every class, in the order of the paper, "other" last."""
        return {name: self.class_share(name) for name in CLASSES}


def subject(point: Point) -> Point:
    """A point with its cores and threads taken out."""
    return replace(point, cores=1, intra="auto")


def profiles(traces: Iterable[Trace]) -> list[Profile]:
    """A profile for every point traced, in the order they first came, threads ascending within a subject."""
    by_subject: dict[tuple[Point, int], dict[int, list[Trace]]] = defaultdict(lambda: defaultdict(list))
    for trace in traces:
        if trace.steps:
            by_subject[subject(trace.point), trace.inter][trace.threads].append(trace)
    return [profile(launches) for by_threads in by_subject.values() for _, launches in sorted(by_threads.items())]


def profile(traces: Sequence[Trace]) -> Profile:
    """The launches of one point as one profile."""
    first = traces[0]
    launches = [launch_parts(trace) for trace in traces]
    parts = _mean(launches)
    executions = _mean([_executions(trace) for trace in traces])
    purposes = _op_purposes(traces)
    shares, by_launch = _shares(parts), [_shares(launch) for launch in launches]
    ops = []
    for name, share in shares.items():
        single = [launch.get(name, 0.0) for launch in by_launch]
        spread = min(single), max(single), _reproducibility(single)
        ops.append(OpShare(name, op_class(name), parts[name], share, executions[name], *spread, purposes[name]))
    plain = [median(trace.plain_step_seconds) for trace in traces if trace.plain_step_seconds]
    return Profile(
        point=first.point,
        threads=first.threads,
        inter=first.inter,
        items_per_step=first.items_per_step,
        ops=tuple(sorted(ops, key=lambda op: (-op.seconds, op.type))),
        overhead_seconds=parts[OVERHEAD],
        unexplained_seconds=parts[UNEXPLAINED],
        overlap_seconds=fmean(fmean(step.overlap_seconds for step in quiet_steps(trace)) for trace in traces),
        wall_seconds=fmean(fmean(step.wall_seconds for step in quiet_steps(trace)) for trace in traces),
        plain_seconds=fmean(plain) if plain else None,
        launches=len(traces),
        quiet=sum(trace.quiet for trace in traces),
        steps=sum(len(trace.steps) for trace in traces),
    )


def _reproducibility(values: Sequence[float]) -> float | None:
    """How far apart the means of two sets of as many values lie, 95 times of 100."""
    if len(values) < LEAST_LAUNCHES:
        return None
    return student_t(len(values) - 1) * sqrt(2 / len(values)) * stdev(values)


def _shares(parts: dict[str, float]) -> dict[str, float]:
    """The share of op time of every op type."""
    ops = {name: seconds for name, seconds in parts.items() if name not in NOT_OPS}
    total = sum(ops.values())
    return {name: seconds / total if total else 0.0 for name, seconds in ops.items()}


def launch_parts(trace: Trace) -> dict[str, float]:
    """Seconds per step of each part of one launch, from its quiet steps: op types, overhead, unexplained."""
    return _mean([step_parts(step) for step in quiet_steps(trace)])


def quiet_steps(trace: Trace) -> tuple[TracedStep, ...]:
    """The middle half of the steps by wall time, at least one."""
    ranked = sorted(trace.steps, key=lambda step: step.wall_seconds)
    cut = len(ranked) // 4
    return tuple(ranked[cut : len(ranked) - cut])


def step_parts(step: TracedStep) -> dict[str, float]:
    """Seconds of each part of one step; where no ops overlap they add up to its wall time."""
    ops = _totals_by_op((op.type, op.seconds) for op in step.ops)
    return {**ops, OVERHEAD: step.overhead_seconds, UNEXPLAINED: step.unexplained_seconds}


def _executions(trace: Trace) -> dict[str, float]:
    return _mean([_totals_by_op((op.type, float(op.executions)) for op in step.ops) for step in quiet_steps(trace)])


def _op_purposes(traces: Sequence[Trace]) -> dict[str, dict[Purpose, float]]:
    """Seconds per step of every op type by purpose; of none where a launch does not tell the purposes of its ops."""
    by_op: dict[str, dict[Purpose, float]] = defaultdict(dict)
    steps = [
        (step, 1 / len(quiet) / len(traces)) for trace in traces for quiet in (quiet_steps(trace),) for step in quiet
    ]
    have_purposes = all(op.purpose is not None for step, _ in steps for op in step.ops)
    for step, weight in steps if have_purposes else ():
        for op in step.ops:
            if op.purpose is not None:
                seconds = by_op[one_name(op.type)]
                seconds[op.purpose] = seconds.get(op.purpose, 0.0) + weight * op.seconds
    return by_op


def _totals_by_op(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for op_type, value in pairs:
        total[one_name(op_type)] += value
    return dict(total)


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each name's values; a name that a row lacks is 0 there."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: fmean(row.get(name, 0.0) for row in rows) for name in names}


def irreproducible(traces: Iterable[Trace], within: float) -> dict[Point, float]:
    """The points whose profiles, made again, may differ by more in the share of an op, and by how much."""
    known = {point: _sequential_reproducibility(launches) for point, launches in traces_by_point(traces).items()}
    return {point: value for point, value in known.items() if value > within}


def _sequential_reproducibility(launches: Sequence[Trace]) -> float:
    """How far such a profile may lie from this one, with its last launch or without: whoever looks after every launch
    and believes the first that says enough stops at a lucky one, 9 times of 100 instead of 5."""
    known = [profile(some).reproducibility for some in (launches, launches[:-1]) if some]
    return max(inf if value is None else value for value in known)


@dataclass(frozen=True, slots=True)
class PartTimes:
    """Mean seconds of each part on each number of threads: counts × parts.

    `units` is how many launches each mean is of; `deviations` are theirs from the mean of their count, relative, all
    counts together: rows × parts, with `freedom` degrees of freedom, and `step_deviations` those of the whole step.
    """

    names: tuple[str, ...]
    threads: tuple[int, ...]
    means: Floats
    units: tuple[int, ...]
    deviations: Floats
    step_deviations: Floats
    freedom: int
    plain_ratio: float | None

    @property
    def steps(self) -> Floats:
        """Seconds of the whole step on each number of threads."""
        total: Floats = self.means.sum(axis=1)
        return total

    def at(self, threads: int) -> int | None:
        """The index of a number of threads; None where it was not traced."""
        return self.threads.index(threads) if threads in self.threads else None

    def only(self, wanted: Sequence[int]) -> "PartTimes":
        """The same without the other numbers of threads; what is known of noise stays."""
        indices = [index for index, threads in enumerate(self.threads) if threads in wanted]
        return replace(
            self,
            threads=tuple(self.threads[index] for index in indices),
            means=self.means[indices],
            units=tuple(self.units[index] for index in indices),
        )

    def as_one(self) -> "PartTimes":
        """The whole step as the only part."""
        return replace(self, names=(WHOLE_STEP,), means=self.steps[:, None], deviations=self.step_deviations[:, None])


def part_times(traces: Sequence[Trace]) -> PartTimes:
    """The parts of one subject's traces, op types with the most time on the fewest threads first."""
    by_threads: dict[int, list[Trace]] = defaultdict(list)
    for trace in traces:
        if trace.inter > 1:
            raise FitError(
                f"{trace.point.workload} was traced with {trace.inter} inter-op threads, where ops overlap and their "
                "times do not add up to a step; profile it with --inter 1"
            )
        by_threads[trace.threads].append(trace)
    counts = sorted(by_threads)
    launches = [[launch_parts(trace) for trace in by_threads[threads]] for threads in counts]
    names = _names(launches)
    units = [_matrix(rows, names) for rows in launches]
    means = np.array([rows.mean(axis=0) for rows in units])
    repeated = [(rows, mean) for rows, mean in zip(units, means, strict=True) if len(rows) > 1]
    none = np.zeros((0, len(names)))
    return PartTimes(
        names=names,
        threads=tuple(counts),
        means=means,
        units=tuple(map(len, units)),
        deviations=np.concatenate([none, *(_deviations(rows, mean) for rows, mean in repeated)]),
        step_deviations=np.concatenate([none[:, 0], *(rows.sum(1) / mean.sum() - 1.0 for rows, mean in repeated)]),
        freedom=sum(len(rows) - 1 for rows, _ in repeated),
        plain_ratio=_plain_ratio(traces),
    )


def _deviations(rows: Floats, mean: Floats) -> Floats:
    """The relative deviation of each unit from the mean; 0 for a part that hardly ran."""
    relative: Floats = (rows - mean) / np.where(mean > LEAST_SECONDS, mean, np.inf)
    return relative


def draw_means(times: PartTimes, size: int = DRAWS, seed: int = SEED) -> tuple[Floats, Floats]:
    """Draw means, draws × counts × parts, and return them with the noise factor of each draw.

    The factor times the root mean square of deviations over √freedom is the relative noise of one unit.
    """
    chance = np.random.default_rng(seed)
    half = size // 2
    if not times.freedom:
        return np.repeat(times.means[None], 2 * half, axis=0), np.zeros(2 * half)
    need(*SCIPY)
    from scipy.special import gammaincinv  # only profiles need it, and it takes a while to import

    # Chi-squared, evenly spread over its levels.
    spread = 2.0 * gammaincinv(times.freedom / 2.0, (chance.permutation(half) + 0.5) / half)
    mixture = chance.standard_normal((half, len(times.threads), len(times.deviations)))
    units = np.array(times.units, dtype=np.float64)
    shift = mixture @ times.deviations / np.sqrt(spread[:, None, None] * units[None, :, None])
    both = np.concatenate([shift, -shift])
    means: Floats = times.means[None] * np.maximum(1.0 + both, LEAST_LEFT)
    return means, np.tile(1.0 / np.sqrt(spread), 2)


def _names(launches: Sequence[Sequence[dict[str, float]]]) -> tuple[str, ...]:
    first = launches[0][0]
    ops = {name for count in launches for parts in count for name in parts} - {OVERHEAD, UNEXPLAINED}
    return (*sorted(ops, key=lambda name: (-first.get(name, 0.0), name)), OVERHEAD, UNEXPLAINED)


def _matrix(rows: Sequence[dict[str, float]], names: tuple[str, ...]) -> Floats:
    return np.array([[max(row.get(name, 0.0), LEAST_SECONDS) for name in names] for row in rows], dtype=np.float64)


def _plain_ratio(traces: Sequence[Trace]) -> float | None:
    """A plain step over a traced one, the geometric mean of launches."""
    ratios = [
        np.median(trace.plain_step_seconds) / sum(launch_parts(trace).values())
        for trace in traces
        if trace.plain_step_seconds
    ]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None
