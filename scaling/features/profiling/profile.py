"""Profiles: the traces of a point summarized by op type. Pure.

A profile averages the middle half of a launch's steps by wall time, so a disturbed step does not count. All parts come
from the same steps, so op time, framework overhead and unexplained time add up to the wall time. Several launches are
averaged. Names of the same op are summed.

Over several numbers of threads the parts have bootstrap draws. A slow launch slows many ops at once, so a draw scatters
all parts together: it is a random mixture of the measured deviations, which has their covariance, over a scaled inverse
χ², which widens the intervals of few launches. One launch per number of threads shows no noise and gives no intervals.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, inf, sqrt
from statistics import fmean, median, stdev

import numpy as np

from scaling.analysis import rules
from scaling.analysis.arrays import Floats
from scaling.analysis.distributions import chi_squared_quantile, student_t
from scaling.analysis.rules import Verdict
from scaling.analysis.traces import (
    CLASSES,
    PURPOSES,
    OpClass,
    Purpose,
    Trace,
    TracedStep,
    one_name,
    op_class,
    traces_by_point,
)
from scaling.errors import FitError
from scaling.study.planning import Point

# Parts of a step beside its ops.
OVERHEAD = "framework overhead"
UNEXPLAINED = "unexplained"
NOT_OPS = (OVERHEAD, UNEXPLAINED)

# Fewer launches do not show how launches differ.
LEAST_LAUNCHES = 3
# Launches whose shares differ by four percentage points need about ten to be known to two; a profile that is still
# imprecise after this many needs a quieter machine.
MOST_LAUNCHES = 24
DRAWS = 1000
SEED = 20260101
# A package, its extra, and the feature that needs it.
SCIPY = "scipy", "report", "profiles"
# The resolution of a clock, as the time of a part that did not run, since logarithms need one.
LEAST_SECONDS = 1e-9
# A draw keeps at least this share of a part's time, however noisy the part is.
LEAST_LEFT = 1e-3
WHOLE_STEP = "whole step"


@dataclass(frozen=True, slots=True)
class OpShare:
    """An op type in a profile: seconds and executions per step, its share of all op time, and seconds by purpose.

    `least` and `most` are its smallest and largest share in a launch. `reproducibility` is the half width of the 95 %
    interval for the difference from a repeated profile; None with fewer than three launches.
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
        """The purpose with the most time; None if the traces have no purposes."""
        return max(self.purposes, key=lambda purpose: self.purposes[purpose], default=None)

    @property
    def share_uncertainty(self) -> float:
        """The reproducibility of its share, or its range over too few launches."""
        return self.most - self.least if self.reproducibility is None else self.reproducibility


@dataclass(frozen=True, slots=True)
class Profile:
    """The step of one point by op type, the heaviest first, over all its launches, quiet or not.

    With several inter-op threads ops overlap, and their sum is `overlap_seconds` too large.
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
        """The verdict of its point: imprecise with too few launches, disturbed with too few quiet ones."""
        if self.quiet >= rules.FEW_LAUNCHES.limit:
            return Verdict.OK
        return Verdict.IMPRECISE if self.quiet == self.launches else Verdict.DISTURBED

    @property
    def parts(self) -> dict[str, float]:
        """Seconds per step of every op type, of overhead and unexplained."""
        ops = {op.type: op.seconds for op in self.ops}
        return ops | {OVERHEAD: self.overhead_seconds, UNEXPLAINED: self.unexplained_seconds}

    @property
    def op_seconds(self) -> float:
        """The sum of the times of all ops, per step."""
        return sum(op.seconds for op in self.ops)

    @property
    def busy_seconds(self) -> float:
        """Time during which at least one op ran, per step."""
        return self.op_seconds - self.overlap_seconds

    @property
    def item_seconds(self) -> float:
        """Wall time per item."""
        return self.wall_seconds / self.items_per_step

    @property
    def stretch(self) -> float | None:
        """Traced over plain step time: 1.1 is a tenth longer."""
        return self.wall_seconds / self.plain_seconds if self.plain_seconds else None

    @property
    def reproducibility(self) -> float | None:
        """The reproducibility of the least certain op; None with fewer than three launches."""
        return max((op.reproducibility for op in self.ops if op.reproducibility is not None), default=None)

    @property
    def subject(self) -> Point:
        """Its point without cores and threads."""
        return subject(self.point)

    def share(self, op_type: str) -> float:
        """The share of op time of a type, 0 if it never ran."""
        return next((op.share for op in self.ops if op.type == op_type), 0.0)

    def class_share(self, op_class: OpClass) -> float:
        """The share of op time of a class."""
        return sum(op.share for op in self.ops if op.op_class == op_class)

    @property
    def class_shares(self) -> dict[OpClass, float]:
        """The share of op time of every class, in the order of the paper, "other" last."""
        return {name: self.class_share(name) for name in CLASSES}

    @property
    def purpose_seconds(self) -> dict[Purpose, float] | None:
        """Seconds per step by purpose, in their usual order; None if the traces have no purposes."""
        seconds = {
            purpose: fsum(op.purposes[purpose] for op in self.ops if purpose in op.purposes) for purpose in PURPOSES
        }
        return {purpose: total for purpose, total in seconds.items() if total} or None

    def purpose_share(self, purpose: Purpose) -> float | None:
        """The share of op time for a purpose; None if the traces have no purposes."""
        seconds = self.purpose_seconds
        return None if seconds is None else seconds.get(purpose, 0.0) / self.op_seconds


def subject(point: Point) -> Point:
    """A point without its cores and threads."""
    return replace(point, cores=1, intra="auto")


def profiles(traces: Iterable[Trace]) -> list[Profile]:
    """A profile for every traced point, in the order of the traces, threads ascending within a subject."""
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
    """The 95 % limit of the difference between the means of two samples of this size."""
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
    """Seconds of each part of one step; they add up to its wall time if no ops overlap."""
    ops = _totals_by_op((op.type, op.seconds) for op in step.ops)
    return {**ops, OVERHEAD: step.overhead_seconds, UNEXPLAINED: step.unexplained_seconds}


def _executions(trace: Trace) -> dict[str, float]:
    return _mean([_totals_by_op((op.type, float(op.executions)) for op in step.ops) for step in quiet_steps(trace)])


def _op_purposes(traces: Sequence[Trace]) -> dict[str, dict[Purpose, float]]:
    """Seconds per step of every op type by purpose; nothing if an op of a launch has no purpose."""
    by_op: dict[str, dict[Purpose, float]] = defaultdict(dict)
    steps = [(step, 1 / len(quiet) / len(traces)) for quiet in map(quiet_steps, traces) for step in quiet]
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
    """The mean of each name's values, 0 in a row without the name."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: fmean(row.get(name, 0.0) for row in rows) for name in names}


def irreproducible(traces: Iterable[Trace], within: float) -> dict[Point, float]:
    """The points whose repeated profiles may differ by more than a limit in the share of an op, and by how much.

    The last launch must confirm the others: stopping at the first profile that looks precise would stop at a lucky one
    9 times of 100 instead of 5.
    """
    differences = {}
    for point, launches in traces_by_point(traces).items():
        known = [profile(some).reproducibility for some in (launches, launches[:-1]) if some]
        differences[point] = max(inf if value is None else value for value in known)
    return {point: value for point, value in differences.items() if value > within}


@dataclass(frozen=True, slots=True)
class PartTimes:
    """Mean seconds of each part on each number of threads: counts × parts.

    `units` counts the launches behind each mean. `deviations` are the relative deviations of launches from the mean of
    their count, all counts together (rows × parts) with `freedom` degrees of freedom; `step_deviations` the same for
    the whole step.
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

    def only(self, wanted: Sequence[int]) -> "PartTimes":
        """The same without other numbers of threads, but with the noise of all."""
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
    """The parts of one subject's traces, the heaviest op types on the fewest threads first."""
    by_threads: dict[int, list[dict[str, float]]] = defaultdict(list)
    for trace in traces:
        if trace.inter > 1:
            raise FitError(
                f"{trace.point.workload} was traced with {trace.inter} inter-op threads, so ops overlap and their "
                "times do not add up to a step; profile it with --inter 1"
            )
        by_threads[trace.threads].append(launch_parts(trace))
    launches = [by_threads[threads] for threads in sorted(by_threads)]
    first = launches[0][0]
    ops = {name for parts in by_threads.values() for launch in parts for name in launch} - {*NOT_OPS}
    names = (*sorted(ops, key=lambda name: (-first.get(name, 0.0), name)), *NOT_OPS)
    units = [
        np.array([[max(row.get(name, 0.0), LEAST_SECONDS) for name in names] for row in rows]) for rows in launches
    ]
    means = np.array([rows.mean(axis=0) for rows in units])
    repeated = [(rows, mean) for rows, mean in zip(units, means, strict=True) if len(rows) > 1]
    none = np.zeros((0, len(names)))
    # A part that hardly ran has no deviations.
    relative = [(rows - mean) / np.where(mean > LEAST_SECONDS, mean, np.inf) for rows, mean in repeated]
    return PartTimes(
        names=names,
        threads=tuple(sorted(by_threads)),
        means=means,
        units=tuple(map(len, units)),
        deviations=np.concatenate([none, *relative]),
        step_deviations=np.concatenate([none[:, 0], *(rows.sum(1) / mean.sum() - 1.0 for rows, mean in repeated)]),
        freedom=sum(len(rows) - 1 for rows, _ in repeated),
        plain_ratio=_plain_ratio(traces),
    )


def _plain_ratio(traces: Sequence[Trace]) -> float | None:
    """Plain over traced step time, the geometric mean of launches."""
    ratios = [
        np.median(trace.plain_step_seconds) / sum(launch_parts(trace).values())
        for trace in traces
        if trace.plain_step_seconds
    ]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None


def draw_means(times: PartTimes, size: int = DRAWS) -> tuple[Floats, Floats]:
    """Draw means, (1 + draws) × counts × parts, of which the first are the estimates, with a noise factor per draw.

    The factor times the root mean square of deviations over √freedom is the relative noise of one unit.
    """
    chance = np.random.default_rng(SEED)
    half = size // 2
    if not times.freedom:
        return np.repeat(times.means[None], 1 + size, axis=0), np.zeros(size)
    # Chi-squared, evenly spread over its levels.
    levels = (chance.permutation(half) + 0.5) / half
    spread = np.array([chi_squared_quantile(level, times.freedom) for level in levels.tolist()])
    mixture = chance.standard_normal((half, len(times.threads), len(times.deviations)))
    units = np.array(times.units, dtype=np.float64)
    shift = mixture @ times.deviations / np.sqrt(spread[:, None, None] * units[None, :, None])
    shifts = np.concatenate([np.zeros_like(shift[:1]), shift, -shift])
    means: Floats = times.means[None] * np.maximum(1.0 + shifts, LEAST_LEFT)
    return means, np.tile(1.0 / np.sqrt(spread), 2)
