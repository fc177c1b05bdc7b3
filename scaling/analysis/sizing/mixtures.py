"""The distribution of a new turn on a size, from the draws of curves, launches and the host. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.curves.draws import Draws
from scaling.analysis.sizing.host_level import HostLevel
from scaling.analysis.sizing.launch_errors import NORMAL, LaunchErrors

LEAST_NOISE = 1e-15
HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture of distributions of one shape, one per draw, all equally likely: means and standard deviations."""

    means: Floats
    noise: Floats
    errors: LaunchErrors = NORMAL

    @property
    def mean(self) -> float:
        """The mean of the mixture."""
        return float(self.means.mean())

    @property
    def deviation(self) -> float:
        """The standard deviation of the mixture."""
        return float(np.sqrt(np.mean((self.means - self.mean) ** 2 + self.noise**2)))

    def chance_below(self, value: float) -> float:
        """The probability of at most a value."""
        return float(self.errors.chance_below((value - self.means) / self.noise).mean())

    def quantile(self, level: float) -> float:
        """The quantile at a level, by bisection."""
        reach = 8.0 * self.noise.max()
        low, high = float(self.means.min() - reach), float(self.means.max() + reach)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.chance_below(middle) < level else (low, middle)
        return (low + high) / 2.0


def turn_mixtures(draws: Draws, host: HostLevel, cores: float, launches: Iterable[int | float]) -> Iterator[Mixture]:
    """Log seconds of a turn on the host, or of means over launches, which are normal if no turns are known."""
    delay = host.at(cores)
    means = draws.log_time(np.array([cores]))[:, 0] + delay.mean
    variance = np.full(draws.size, delay.deviation**2) if host.cores else draws.launch_variance(cores)
    for count in launches:
        yield Mixture(means, np.maximum(np.sqrt(variance / count), LEAST_NOISE), delay.errors.mean_of(count))
