"""A mixture of distributions of one shape, as samples of equal weight. Pure.

The distribution of errors has `SLICES` equally likely slices. Every part of the mixture, a draw of a curve, meets one
error of each. Parts are in the order of their means, and the position in the slices moves by the golden ratio from one
to the next, so the samples fill the plane of means and errors evenly and are the same every time (a lattice rule: Sloan
& Joe, Lattice Methods for Multiple Integration, 1994). 2,000 draws have 16,000 samples. In the examples,
sampled quantiles differ from the exact ones by at most 0.25 % up to a level of 95 % and 0.6 % at 99 %, probabilities by
at most 0.002.

Quantiles are taken at `PROBITS`, and interpolated between them, here and in the planner of the page.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.distributions import normal_chance, normal_quantile
from scaling.analysis.sizing.launch_errors import NORMAL, LaunchErrors

# The number of slices of the distribution of errors, and the share of a slice from one part to the next.
SLICES = 8
GOLDEN = (5.0**0.5 - 1.0) / 2.0
ASSURANCES = (0.5, 0.8, 0.9, 0.95, 0.99)
# Levels of quantiles as probits: evenly spaced, with one for every assurance. At the ends are the extreme samples.
PROBITS = np.unique([*np.linspace(-3.9, 3.9, 131).round(2), *map(normal_quantile, ASSURANCES)])
LEVELS = np.array([normal_chance(probit) for probit in PROBITS.tolist()])
ASSURANCE_PROBITS = tuple(np.searchsorted(PROBITS, [normal_quantile(one) for one in ASSURANCES]).tolist())


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture of distributions of one shape, one per draw, all equally likely: means and standard deviations."""

    means: Floats
    noise: Floats
    errors: LaunchErrors = NORMAL

    def samples(self, errors: int = SLICES) -> Floats:
        """Equally likely values, ascending: every part with this number of errors, a power of two."""
        slices = self.errors.samples.reshape(errors, -1)
        order = np.argsort(self.means)
        position = np.arange(len(order)) * GOLDEN % 1.0
        values = slices.take((position * slices.shape[1]).astype(np.intp), axis=1)
        # In place, because fresh large arrays cost more than the arithmetic.
        values *= self.noise[order]
        values += self.means[order]
        samples = values.ravel()
        samples.sort()
        return samples

    def quantiles(self, levels: Floats = LEVELS, errors: int = SLICES) -> Floats:
        """The values that it does not exceed with these probabilities, from samples."""
        samples = self.samples(errors)
        ranks = (levels * len(samples)).astype(np.intp)
        return samples[np.minimum(ranks, len(samples) - 1)]


def chance_below(value: float, quantiles: Floats) -> float:
    """The probability of at most a value, by the quantiles at `PROBITS`; 0 below all samples, 1 above."""
    return normal_chance(float(np.interp(value, quantiles, PROBITS, left=-inf, right=inf)))
