"""Node types compared: the cores that the same work needs on each, and machines of one node type. Pure.

Launches of a point on several machines of a node type follow a one-way random-effects model on the logarithm of
seconds, unbalanced: σ² between = (MS between - MS within) / n₀, and zero where that is below zero (Searle, Casella &
McCulloch, Variance Components, 1992, section 3.6). Machines of a node type are meant to be alike, so launches of all of
them make one estimate; but an interval over launches knows of a difference between machines only as far as there were
several.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, floor, fsum, log, log10, sqrt

from scaling.analysis.capacity import allocation_of, answer
from scaling.analysis.series import SeriesKey
from scaling.analysis.sizing.question import Allocation, Answer, Goal, Question, ScalingLimits
from scaling.analysis.sizing.sizes import Price
from scaling.analysis.summary import Launch, table_order
from scaling.results.evaluation import Evaluation
from scaling.results.rows import launch_of
from scaling.study.planning import Point

# The throughput that node types are compared at by default, as a share of what the slowest is predicted to do on its
# recommended cores: the largest of these that every node type reaches, or the smallest.
COMPARED_SHARES = (0.9, 0.75, 0.5)


@dataclass(frozen=True, slots=True)
class Between:
    """A point over several machines: launches and mean seconds of each, and standard deviations as shares of the time.

    `between` and `within` are None where every machine made one launch, so that the two cannot be separated.
    """

    point: Point
    machines: tuple[tuple[str, int, float], ...]
    between: float | None
    within: float | None

    @property
    def apart(self) -> float:
        """How much longer the slowest machine takes than the fastest, as a share."""
        means = [mean for _, _, mean in self.machines]
        return max(means) / min(means) - 1.0


def several_machines(launches: Iterable[tuple[str, Launch]]) -> list[Between]:
    """Every point that was measured on more than one machine, as a table has them; launches come with their host."""
    by_point: dict[Point, dict[str, list[float]]] = {}
    for host, launch in launches:
        if launch.seconds is not None:
            by_point.setdefault(launch.point, {}).setdefault(host, []).append(launch.seconds)
    several = sorted((point for point, hosts in by_point.items() if len(hosts) > 1), key=table_order)
    return [between(point, by_point[point]) for point in several]


def between(point: Point, seconds: Mapping[str, Sequence[float]]) -> Between:
    """Variance components of a point from the seconds of the launches on each of two or more machines."""
    logs = {host: [log(value) for value in launches] for host, launches in seconds.items()}
    means = {host: fsum(values) / len(values) for host, values in logs.items()}
    machines = tuple((host, len(logs[host]), exp(means[host])) for host in sorted(logs))
    counts = [len(values) for values in logs.values()]
    total, groups = sum(counts), len(counts)
    if total == groups:
        return Between(point, machines, None, None)
    grand = fsum(value for values in logs.values() for value in values) / total
    squares_within = fsum((value - means[host]) ** 2 for host, values in logs.items() for value in values)
    within = squares_within / (total - groups)
    squares_between = fsum(len(values) * (means[host] - grand) ** 2 for host, values in logs.items())
    typical = (total - fsum(count**2 for count in counts) / total) / (groups - 1)
    variance = max(0.0, (squares_between / (groups - 1) - within) / typical)
    return Between(point, machines, sqrt(variance), sqrt(within))


@dataclass(frozen=True, slots=True)
class NodeTypeEvaluation:
    """A node type: the evaluation of its folder, and the price of its cores."""

    name: str
    core_hour: float
    evaluation: Evaluation

    @property
    def price(self) -> Price:
        """What an hour of it costs."""
        return Price(self.core_hour)

    @property
    def between(self) -> list[Between]:
        """Points that were measured on more than one of its machines."""
        return several_machines((row.machine.host, launch_of(row)) for row in self.evaluation.folder.rows)

    def limits_of(self, series: SeriesKey) -> ScalingLimits | None:
        """The scaling limits of a series."""
        return next((limits for limits in self.evaluation.limits if limits.fit.series.key == series), None)

    def recommendation(self, series: SeriesKey) -> Allocation | None:
        """The recommended size of a series, its throughput and price; None where no size is recommended."""
        limits = self.limits_of(series)
        if limits is None or limits.recommended is None:
            return None
        size = limits.recommended, self.price, self.evaluation.sizes
        return allocation_of(limits.fit, *size, threads=limits.threads)


@dataclass(frozen=True, slots=True)
class NodeTypeAnswer:
    """The answer of a node type for a series."""

    node_type: str
    answer: Answer

    @property
    def series(self) -> SeriesKey:
        """The series, whatever the node type."""
        return self.answer.fit.series.key.on_any_node_type

    @property
    def label(self) -> str:
        """The series as a sentence has it, whatever the node type."""
        return self.answer.fit.series.own_label


@dataclass(frozen=True, slots=True)
class SameWork:
    """A series on every node type that has a law of it, sized for the same throughput."""

    series: SeriesKey
    target: float
    answers: tuple[NodeTypeAnswer, ...]

    @property
    def label(self) -> str:
        """The series as a sentence has it."""
        return self.answers[0].label


def series_labels(node_types: Sequence[NodeTypeEvaluation]) -> dict[SeriesKey, str]:
    """The labels of every series with scaling limits on any node type, in the order of the node types."""
    labels: dict[SeriesKey, str] = {}
    for node_type in node_types:
        for limits in node_type.evaluation.limits:
            labels.setdefault(limits.fit.series.key, limits.fit.series.own_label)
    return labels


def same_work(node_types: Sequence[NodeTypeEvaluation], target: float | None = None) -> list[SameWork]:
    """Size every node type for the same throughput: `target`, or a round one that all should reach.

    Series that only one node type has, and those without a recommended size, are left out: there is nothing to compare.
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
    """Throughputs to compare node types at, the best first; none where no size is recommended."""
    rates = [
        allocation.rate.value
        for node_type in node_types
        if (allocation := node_type.recommendation(series)) and allocation.rate.value
    ]
    return [_round(share * min(rates)) for share in COMPARED_SHARES] if rates else []


def _answer(node_type: NodeTypeEvaluation, series: SeriesKey, target: float) -> NodeTypeAnswer:
    limits = node_type.limits_of(series)
    assert limits is not None
    question = Question(Goal.THROUGHPUT, target, price=node_type.price)
    return NodeTypeAnswer(node_type.name, answer(limits.fit, question, node_type.evaluation.sizes))


def _round(number: float) -> float:
    """The next number below with two digits, so that people can say it and type it."""
    digits = floor(log10(number)) - 1
    return float(f"{floor(number / 10.0**digits)}e{digits}")


def allocations_by_series(answers: Sequence[NodeTypeAnswer]) -> dict[SeriesKey, dict[str, Allocation]]:
    """The allocations of the node types by series; node types without an allocation are left out."""
    allocations: dict[SeriesKey, dict[str, Allocation]] = {}
    for answered in answers:
        if answered.answer.allocation is not None:
            allocations.setdefault(answered.series, {})[answered.node_type] = answered.answer.allocation
    return allocations


def cheapest(allocations: Mapping[str, Allocation]) -> str:
    """The node type whose size does the work at the lowest price."""
    return min(allocations, key=lambda name: allocations[name].cost_per_million)


def fewest_cores(allocations: Mapping[str, Allocation]) -> list[str]:
    """The node types whose size has the fewest cores, counting those twice whose both threads are used."""
    needed = {
        name: (allocation.cores * allocation.threads, allocation.cores) for name, allocation in allocations.items()
    }
    return [name for name, cores in needed.items() if cores == min(needed.values())]
