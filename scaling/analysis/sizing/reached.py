"""What was measured bounds every limit from below: a speedup that was reached can be reached. Pure."""

from dataclasses import replace
from math import exp, log
from statistics import fmean

from scaling.analysis.estimates import Estimate
from scaling.analysis.series import Observation, Series


def rate_reached(series: Series) -> float:
    """The largest throughput measured."""
    return series.work / min(map(_seconds, series.observations))


def speedup_reached(series: Series, over: Series) -> float:
    """The largest throughput measured over that of one core with one thread; 0 where this was not measured."""
    one_core = [one for one in over.observations if (one.cores, one.siblings) == (1.0, 0.0)]
    return _seconds(one_core[0]) * rate_reached(series) / series.work if one_core else 0.0


def _seconds(observation: Observation) -> float:
    return exp(fmean(map(log, observation.launch_seconds)))


def at_least(limit: Estimate, reached: float) -> Estimate:
    """A limit that is not below what was reached; its low end may be, as what was reached has its own noise."""
    high = None if limit.high is None else max(limit.high, reached)
    return replace(limit, value=max(limit.value, reached), high=high)
