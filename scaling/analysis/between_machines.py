"""Launches of one point on several machines of a node type: variance between and within machines. Pure.

A one-way random-effects model on the logarithm of seconds, unbalanced: σ² between = (MS between - MS within) / n₀, and
zero where that is below zero (Searle, Casella & McCulloch, Variance Components, 1992, section 3.6). Machines of a node
type are meant to be alike, so launches of all of them make one estimate; but an interval over launches knows of a
difference between machines only as far as there were several.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log, sqrt

from scaling.analysis.summary import Launch, table_order
from scaling.study.planning import Point


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
