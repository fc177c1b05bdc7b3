"""Simulated measurements with a known truth: a scaling law, and noise between launches.

    T = T(1) (s + (1 - s) clock / n + k (n - 1)) · exp(launch noise)

Under weak scaling the time is that of the items of one core, T(1) / (s + (1 - s) n), by Gustafson's law. Launch noise
may grow with cores, and the clock may fall with them. All randomness comes from the generator passed in.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.curves.laws import relative_time
from scaling.analysis.serial_fraction import Scale
from scaling.analysis.series import Observation, Series, SeriesKey, table_key

Floats = NDArray[np.float64]

TO_16, TO_32 = ((*(2**power for power in range(most + 1)),) for most in (4, 5))
FASTEST_MHZ = 3700.0


@dataclass(frozen=True, slots=True)
class Truth:
    """The true parameters. `noise` is of a launch on one core; on the most cores it is `growth` times that."""

    serial: float
    coherency: float = 0.0
    noise: float = 0.02
    growth: float = 1.0
    grid: tuple[int, ...] = TO_32
    launches: int = 5
    seconds: float = 1.0
    slowest_mhz: float = FASTEST_MHZ
    scale: Scale = "strong"

    @property
    def key(self) -> SeriesKey:
        """The key of a series with this truth."""
        simulated = table_key("simulated")
        assert simulated.settings
        return replace(simulated, settings=replace(simulated.settings, scale=self.scale))

    def mhz(self, cores: float) -> float:
        """A clock that falls evenly with every doubling."""
        share = np.log(cores) / np.log(max(self.grid)) if max(self.grid) > 1 else 0.0
        return FASTEST_MHZ + (self.slowest_mhz - FASTEST_MHZ) * float(share)

    def true_seconds(self, count: int) -> float:
        """The time without noise on so many cores."""
        slower = FASTEST_MHZ / self.mhz(count)
        return self.seconds * float(relative_time(count, self.serial, self.coherency, slower, self.scale))

    def launch_noise(self, count: int) -> float:
        """Relative noise of a launch."""
        share = np.log(count) / np.log(max(self.grid)) if max(self.grid) > 1 else 0.0
        return self.noise * float(self.growth**share)


def launches(truth: Truth, count: int, chance: np.random.Generator, size: int | None = None) -> Floats:
    """Seconds of launches at a count."""
    scatter = chance.normal(0.0, truth.launch_noise(count), size or truth.launches)
    seconds: Floats = truth.true_seconds(count) * np.exp(scatter)
    return seconds


def series(truth: Truth, chance: np.random.Generator, *, clock: bool = False) -> Series:
    """A measured series, launch by launch; with its clock where one was recorded."""
    observations = tuple(
        Observation(float(count), tuple(launches(truth, count, chance)), mhz=truth.mhz(count) if clock else None)
        for count in truth.grid
    )
    return Series("simulated", observations, key=truth.key if truth.scale == "weak" else SeriesKey())


def blocked_series(truth: Truth, effect: float, chance: np.random.Generator) -> Series:
    """A measured series whose launches share blocks, each slower or faster by an effect of its own."""
    effects = np.exp(chance.normal(0.0, effect, truth.launches))
    blocks = tuple(map(str, range(truth.launches)))
    observations = tuple(
        Observation(float(count), tuple(effects * launches(truth, count, chance)), blocks=blocks)
        for count in truth.grid
    )
    return Series("simulated", observations)
