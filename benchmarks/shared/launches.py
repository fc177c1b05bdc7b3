"""Simulated measurements with a known truth: a scaling law, noise between launches and steps, and disturbances.

    T = T(1) (1/n + s (1 - 1/n) + k (n - 1)) · clock · exp(launch noise + step noise)

Under weak scaling the time is that of the items of one core, T(1) / (s + (1 - s) n), by Gustafson's law. Launch noise
may grow with cores. Steps are AR(1) around their launch, one in a hundred is longer by a half, and the first ten are
slower by a fifth. Threads that share a core count by their yield φ; the clock may fall with cores. All randomness comes
from the generator passed in.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.curves.laws import Scale, scaled_speedup
from scaling.analysis.series import Observation, Series, SeriesKey, table_key, threads_on

Floats = NDArray[np.float64]

TO_8, TO_16, TO_32, TO_128 = ((*(2**power for power in range(most + 1)),) for most in (3, 4, 5, 7))
STEP_CORRELATION = 0.3
OUTLIERS, OUTLIER_FACTOR = 0.01, 1.5
WARMUP_STEPS, WARMUP_FACTOR = 10, 1.2
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
    physical: int | None = None
    smt_yield: float = 0.0
    slowest_mhz: float = FASTEST_MHZ
    clock_governs: Literal["parallel part", "everything"] = "parallel part"
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
        """The time without noise on so many cores, or threads where cores are shared."""
        cores = min(count, self.physical or count)
        n = cores + self.smt_yield * (count - cores)
        slower = FASTEST_MHZ / self.mhz(count)
        parallel, whole = (slower, 1.0) if self.clock_governs == "parallel part" else (1.0, slower)
        s, k = self.serial, self.coherency
        if self.scale == "weak":
            return self.seconds * whole / float(scaled_speedup(n / parallel, s))
        return self.seconds * whole * ((1.0 - s) * parallel / n + s + k * (n - 1.0))

    def launch_noise(self, count: int) -> float:
        """Relative noise of a launch."""
        share = np.log(count) / np.log(max(self.grid)) if max(self.grid) > 1 else 0.0
        return self.noise * float(self.growth**share)


def launches(truth: Truth, count: int, chance: np.random.Generator, size: int | None = None) -> Floats:
    """Seconds of launches at a count."""
    scatter = chance.normal(0.0, truth.launch_noise(count), size or truth.launches)
    seconds: Floats = truth.true_seconds(count) * np.exp(scatter)
    return seconds


def steps(launch_seconds: float, count: int, noise: float, chance: np.random.Generator) -> Floats:
    """Step times of one launch, its warm-up first."""
    own = chance.normal(0.0, noise, count)
    scatter = np.empty(count)
    scatter[0] = own[0]
    for place in range(1, count):
        scatter[place] = STEP_CORRELATION * scatter[place - 1] + (1.0 - STEP_CORRELATION**2) ** 0.5 * own[place]
    factor = np.where(chance.random(count) < OUTLIERS, OUTLIER_FACTOR, 1.0)
    factor[:WARMUP_STEPS] *= WARMUP_FACTOR
    seconds: Floats = launch_seconds * np.exp(scatter) * factor
    return seconds


def series(truth: Truth, chance: np.random.Generator, *, clock: bool = False) -> Series:
    """A measured series, launch by launch; with its clock where one was recorded."""
    observations = tuple(
        Observation(float(count), tuple(launches(truth, count, chance)), mhz=truth.mhz(count) if clock else None)
        for count in truth.grid
    )
    simulated = Series("simulated", observations, key=truth.key if truth.scale == "weak" else SeriesKey())
    return threads_on(simulated, truth.physical) if truth.physical else simulated


def blocked_series(truth: Truth, effect: float, chance: np.random.Generator) -> Series:
    """A measured series whose launches share blocks, each slower or faster by an effect of its own."""
    effects = np.exp(chance.normal(0.0, effect, truth.launches))
    blocks = tuple(map(str, range(truth.launches)))
    observations = tuple(
        Observation(float(count), tuple(effects * launches(truth, count, chance)), blocks=blocks)
        for count in truth.grid
    )
    return Series("simulated", observations)


def stepped_series(truth: Truth, chance: np.random.Generator, count: int = 30, noise: float = 0.01) -> Series:
    """A measured series whose launches stand for steps, each by the median of those after its warm-up."""

    def figure(seconds: float) -> float:
        return float(np.median(steps(seconds, WARMUP_STEPS + count, noise, chance)[WARMUP_STEPS:]))

    observations = tuple(
        Observation(float(cores), tuple(map(figure, launches(truth, cores, chance)))) for cores in truth.grid
    )
    return Series("simulated", observations)
