"""Launches of one point on more than one machine of a kind: how far apart they are. Pure.

A one-way random-effects model on the logarithm of seconds, unbalanced: σ² between = (MS between - MS within) / n₀, and
zero where that is below zero (Searle, Casella & McCulloch, Variance Components, 1992, section 3.6). Machines of a kind
are meant to be alike, so launches of all of them make one figure; but an interval over launches knows of a difference
between machines only as far as there were several.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, log, sqrt

from scaling.analysis.summary import Launch, table_order
from scaling.study.planning import Point


@dataclass(frozen=True, slots=True)
class Between:
    """A point over several machines: launches and mean seconds of each, and standard deviations as shares of the time.

    `between` and `within` are None where every machine made one launch, so that they cannot be told apart.
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
    several = sorted((point for point, timed in by_point.items() if len(timed) > 1), key=table_order)
    return [between(point, by_point[point]) for point in several]


def between(point: Point, seconds: Mapping[str, Sequence[float]]) -> Between:
    """How far machines are apart, given the seconds of the launches on each of two or more."""
    logs = {host: [log(each) for each in timed] for host, timed in seconds.items()}
    means = {host: fsum(each) / len(each) for host, each in logs.items()}
    machines = tuple((host, len(logs[host]), exp(means[host])) for host in sorted(logs))
    counts = [len(each) for each in logs.values()]
    total, groups = sum(counts), len(counts)
    if total == groups:
        return Between(point, machines, None, None)
    grand = fsum(value for each in logs.values() for value in each) / total
    spread_within = fsum((value - means[host]) ** 2 for host, each in logs.items() for value in each) / (total - groups)
    spread_between = fsum(len(each) * (means[host] - grand) ** 2 for host, each in logs.items()) / (groups - 1)
    typical = (total - fsum(count**2 for count in counts) / total) / (groups - 1)
    variance = max(0.0, (spread_between - spread_within) / typical)
    return Between(point, machines, sqrt(variance), sqrt(spread_within))
