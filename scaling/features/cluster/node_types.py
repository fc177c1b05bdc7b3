"""Node types side by side: the sizes that do the same work on each, and the spread between machines of a type. Pure.

Launches of a point on several machines of a node type follow an unbalanced one-way random-effects model on the
logarithm of seconds: σ² between = (MS between - MS within) / n₀, or zero if negative (Searle, Casella & McCulloch,
Variance Components, 1992, section 3.6). Machines of a node type should be alike, so launches on all of them make one
estimate; its interval covers a difference between machines only if several were measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, floor, fsum, log, log10, sqrt
from typing import NamedTuple

from scaling.analysis.series import SeriesKey
from scaling.analysis.sizing.capacity import allocation_of, answer
from scaling.analysis.sizing.question import Allocation, Answer, Goal, Question, ScalingLimits
from scaling.analysis.sizing.sizes import Price
from scaling.analysis.summary import Launch, table_order
from scaling.results.evaluation import Evaluation
from scaling.results.rows import launch_of
from scaling.study.planning import Point

# Node types are compared at one of these shares of the throughput of the slowest on its recommended cores: the largest
# that every node type reaches, or else the smallest.
COMPARED_SHARES = (0.9, 0.75, 0.5)


class MachineMean(NamedTuple):
    """The launches of a point on a machine, and their mean."""

    host: str
    launches: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Between:
    """A point on several machines: launches and mean seconds by host, and standard deviations as shares of the time.

    `between` and `within` are None if every machine made only one launch.
    """

    point: Point
    machines: tuple[MachineMean, ...]
    between: float | None
    within: float | None

    @property
    def apart(self) -> float:
        """The excess time of the slowest machine over the fastest, as a share."""
        means = [one.seconds for one in self.machines]
        return max(means) / min(means) - 1.0


def several_machines(launches: Iterable[tuple[str, Launch]]) -> list[Between]:
    """The points that were measured on more than one machine, in table order, from launches with their hosts."""
    by_point: dict[Point, dict[str, list[float]]] = {}
    for host, launch in launches:
        if launch.seconds is not None:
            by_point.setdefault(launch.point, {}).setdefault(host, []).append(launch.seconds)
    several = sorted((point for point, hosts in by_point.items() if len(hosts) > 1), key=table_order)
    return [between(point, by_point[point]) for point in several]


def between(point: Point, seconds: Mapping[str, Sequence[float]]) -> Between:
    """Variance components of a point from the seconds of the launches on each of two or more machines."""
    logs = {host: [log(value) for value in launches] for host, launches in sorted(seconds.items())}
    means = {host: fsum(values) / len(values) for host, values in logs.items()}
    machines = tuple(MachineMean(host, len(values), exp(means[host])) for host, values in logs.items())
    counts = [len(values) for values in logs.values()]
    total, groups = sum(counts), len(counts)
    if total == groups:
        return Between(point, machines, None, None)
    grand = fsum(value for values in logs.values() for value in values) / total
    within = fsum((value - means[host]) ** 2 for host, values in logs.items() for value in values) / (total - groups)
    squares_between = fsum(len(values) * (means[host] - grand) ** 2 for host, values in logs.items())
    typical = (total - fsum(count**2 for count in counts) / total) / (groups - 1)
    variance = max(0.0, (squares_between / (groups - 1) - within) / typical)
    return Between(point, machines, sqrt(variance), sqrt(within))


@dataclass(frozen=True, slots=True)
class NodeTypeEvaluation:
    """A node type: the evaluation of its folder, and the price of a core-hour."""

    name: str
    core_hour: float
    evaluation: Evaluation

    @property
    def between(self) -> list[Between]:
        """The points that were measured on more than one of its machines."""
        return several_machines((row.machine.host, launch_of(row)) for row in self.evaluation.folder.rows)

    def limits_of(self, series: SeriesKey) -> ScalingLimits | None:
        """The scaling limits of a series."""
        return next((limits for limits in self.evaluation.limits if limits.fit.series.key == series), None)

    def recommendation(self, series: SeriesKey) -> Allocation | None:
        """The recommended size of a series with its throughput and cost, or None."""
        limits = self.limits_of(series)
        if limits is None or limits.recommended is None:
            return None
        size = limits.recommended, Price(self.core_hour), self.evaluation.sizes
        return allocation_of(limits.fit, *size, threads=limits.threads)


class NodeTypeAnswer(NamedTuple):
    """The answer of a node type for a series."""

    node_type: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The sizes of a series by node type, without the node types that have no answer."""

    label: str
    name: str
    allocations: dict[str, Allocation]

    @property
    def cheapest(self) -> str:
        """The node type with the lowest cost of the work."""
        return min(self.allocations, key=lambda name: self.allocations[name].cost_per_million)

    @property
    def fewest_cores(self) -> list[str]:
        """The node types with the fewest cores, or hardware threads if a size uses several per core."""
        needed = {name: (one.cores * one.threads, one.cores) for name, one in self.allocations.items()}
        return [name for name, cores in needed.items() if cores == min(needed.values())]

    @property
    def unit(self) -> str:
        """The unit in which sizes are compared."""
        return "cores" if all(one.threads == 1 for one in self.allocations.values()) else "hardware threads"


def side_by_side(answers: Iterable[NodeTypeAnswer]) -> list[SideBySide]:
    """The answers of node types by series."""
    by_series: dict[SeriesKey, SideBySide] = {}
    for one in answers:
        if (allocation := one.answer.allocation) is not None:
            series = one.answer.fit.series
            empty = SideBySide(series.own_label, series.own_name, {})
            by_series.setdefault(series.key.on_any_node_type, empty).allocations[one.node_type] = allocation
    return list(by_series.values())


@dataclass(frozen=True, slots=True)
class SameWork:
    """A series on every node type with a law for it, sized for the same throughput."""

    series: SeriesKey
    target: float
    answers: tuple[NodeTypeAnswer, ...]

    @property
    def label(self) -> str:
        """The name of the series in sentences."""
        return self.answers[0].answer.fit.series.own_label


def series_labels(node_types: Sequence[NodeTypeEvaluation]) -> dict[SeriesKey, str]:
    """The labels of every series with scaling limits on any node type, in the order of the node types."""
    labels: dict[SeriesKey, str] = {}
    for node_type in node_types:
        for limits in node_type.evaluation.limits:
            labels.setdefault(limits.fit.series.key, limits.fit.series.own_label)
    return labels


def same_work(node_types: Sequence[NodeTypeEvaluation], target: float | None = None) -> list[SameWork]:
    """Size every node type for the same throughput: `target`, or a round number that all should reach.

    Series on one node type only and series without a recommended size are left out.
    """
    works = (
        _compare(series, [node_type for node_type in node_types if node_type.limits_of(series)], target)
        for series in series_labels(node_types)
    )
    return [work for work in works if work is not None]


def _compare(series: SeriesKey, node_types: Sequence[NodeTypeEvaluation], target: float | None) -> SameWork | None:
    works = (
        SameWork(series, wanted, tuple(_answer(node_type, series, wanted) for node_type in node_types))
        for wanted in ([target] if target else _targets(series, node_types))
    )
    last = None
    for last in works if len(node_types) > 1 else ():
        if all(answered.answer.allocation for answered in last.answers):
            break
    return last


def _targets(series: SeriesKey, node_types: Sequence[NodeTypeEvaluation]) -> list[float]:
    """The throughputs to compare node types at, the best first; empty without a recommended size."""
    rates = [
        allocation.rate.value
        for node_type in node_types
        if (allocation := node_type.recommendation(series)) and allocation.rate.value
    ]
    return [_round(share * min(rates)) for share in COMPARED_SHARES] if rates else []


def _answer(node_type: NodeTypeEvaluation, series: SeriesKey, target: float) -> NodeTypeAnswer:
    limits = node_type.limits_of(series)
    assert limits is not None
    question = Question(Goal.THROUGHPUT, target, price=Price(node_type.core_hour))
    return NodeTypeAnswer(node_type.name, answer(limits.fit, question, node_type.evaluation.sizes))


def _round(number: float) -> float:
    """The next number below with two significant digits."""
    digits = floor(log10(number)) - 1
    return float(f"{floor(number / 10.0**digits)}e{digits}")
