"""What the solver sees of a series: the launches at each core count as arrays. Pure.

The launch is the unit of replication, and noise is relative, so everything is done with the logarithm of a launch's
time. Of all launches at a count only three figures matter to a fit: how many, their mean, and how they scatter.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.series import Series

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Counts:
    """A series as arrays with one entry a count: what the solver sees."""

    cores: Floats
    siblings: Floats
    launches: Floats
    means: Floats  # of log seconds
    scatter: Floats  # sum of squares of log seconds around their mean
    stretch: Floats  # clock at the fewest cores over the clock here; ones where no clock is known

    @property
    def observed(self) -> int:
        """How many launches there are."""
        return int(self.launches.sum())

    @property
    def size(self) -> int:
        """How many counts there are."""
        return len(self.cores)

    @property
    def pure_df(self) -> int:
        """Degrees of freedom of the scatter of launches around their own count's mean."""
        return self.observed - self.size


def counts(series: Series, stretch: Floats | None = None) -> Counts:
    """The figures of a series, count by count."""
    logs = [np.log(np.asarray(each.launch_seconds, dtype=np.float64)) for each in series.observations]
    means = np.array([values.mean() for values in logs])
    return Counts(
        cores=np.array(series.cores, dtype=np.float64),
        siblings=np.array([each.siblings for each in series.observations], dtype=np.float64),
        launches=np.array([len(values) for values in logs], dtype=np.float64),
        means=means,
        scatter=np.array([((values - mean) ** 2).sum() for values, mean in zip(logs, means, strict=True)]),
        stretch=np.ones(len(logs)) if stretch is None else stretch,
    )


def clock_stretch(series: Series) -> Floats | None:
    """How much slower the clock ran at each count than at the fewest cores; None unless every count has a clock."""
    clocks = [each.mhz for each in series.observations]
    if any(clock is None for clock in clocks):
        return None
    known = np.array(clocks, dtype=np.float64)
    stretch: Floats = known[0] / known
    return stretch
