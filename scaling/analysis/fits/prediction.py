"""Prediction intervals: the time of new launches on any count, and the largest count held out. Pure."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from scaling.analysis.estimates import Estimate
from scaling.analysis.fits.observations import Floats
from scaling.analysis.fits.parametric_bootstrap import Draws, quantiles

# Nothing is predicted beyond this many times the most cores measured.
EXTRAPOLATION_LIMIT = 2.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds on a number of cores: the median of the draws, and the 95 % prediction interval of a mean of launches."""

    cores: float
    seconds: Estimate


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The largest count, predicted by a fit without it, beside its measurement."""

    predicted: Prediction
    measured_seconds: float

    @property
    def inside(self) -> bool:
        """Whether the measurement fell into the interval."""
        seconds = self.predicted.seconds
        assert seconds.low is not None
        assert seconds.high is not None
        return seconds.low <= self.measured_seconds <= seconds.high


def predict(draws: Draws, cores: float, launches: int = 1, siblings: float = 0.0) -> Prediction:
    """Predict the mean of new launches on a number of cores, with its noise."""
    at = np.array([cores])
    logs = draws.log_time(at, siblings)[:, 0]
    noise = draws.launch_noise(at)[:, 0] / np.sqrt(launches)
    middle = float(np.exp(quantiles(logs, draws.share, [0.5])[0]))
    low, high = (predictive_quantile(logs, noise, draws.share, level) for level in (0.025, 0.975))
    return Prediction(cores, Estimate(middle, float(np.exp(low)), float(np.exp(high))))


def predictive_quantile(logs: Floats, noise: Floats, share: Floats, level: float) -> float:
    """The quantile of a mixture of normal distributions, by bisection."""
    reach = 8.0 * noise.max() + 1e-12
    low, high = float(logs.min() - reach), float(logs.max() + reach)
    safe = np.maximum(noise, 1e-15)
    for _ in range(60):
        middle = (low + high) / 2.0
        reached = share @ ndtr((middle - logs) / safe) / share.sum()
        low, high = (middle, high) if reached < level else (low, middle)
    return (low + high) / 2.0


def chance_within(draws: Draws, seconds: float, cores: Floats, siblings: float = 0.0, launches: int = 1) -> Floats:
    """The probability, at each count, that the mean of new launches takes at most these seconds."""
    cores = np.atleast_1d(np.asarray(cores, dtype=np.float64))
    distance = np.log(seconds) - draws.log_time(cores, siblings)
    safe = np.maximum(draws.launch_noise(cores) / np.sqrt(launches), 1e-15)
    chances: Floats = draws.share @ ndtr(distance / safe) / draws.share.sum()
    return chances
