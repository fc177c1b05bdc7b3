"""Response times of k servers in front of which requests wait, by simulation: the queue M/G/k. Pure.

Requests arrive at random (Poisson) and wait in one queue, first come, first served; each server serves one at a time.
Service times have the shape of measured steps. Arrivals and services are drawn once and used at every utilisation
(common random numbers), so that responses grow smoothly with it. A server that is free first takes the next request
(Kiefer & Wolfowitz, Transactions of the American Mathematical Society 78, 1955). All times are in mean service times;
responses then depend on the utilisation alone, and one simulation answers for every rate of arrivals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scaling.analysis.series import HostTurns
from scaling.analysis.step_times import LEVELS

Floats = NDArray[np.float64]

# Beyond this a queue takes hours to settle, and every estimate of the service time decides.
MOST_BUSY = 0.95
UTILISATIONS = np.array([*np.linspace(0.05, 0.9, 18), 0.925, MOST_BUSY])
# At one utilisation a queue of more servers is never slower, so that this many stand for all beyond.
MOST_SERVERS = 64
CHAINS, WARMUP, REQUESTS, SEED = 32, 1000, 3000, 1
GRID = 4000


@dataclass(frozen=True, slots=True)
class ServiceShape:
    """Service times in units of their mean, at `LEVELS`; between two of them they are linear."""

    values: tuple[float, ...]

    def quantile(self, share: float) -> float:
        """The service time that a share of requests stays within."""
        return float(np.interp(share, LEVELS, self.values))


@dataclass(frozen=True, slots=True)
class ResponseCurve:
    """A quantile of responses and the mean of waits, in mean service times, at utilisations from zero on."""

    servers: int
    utilisations: tuple[float, ...]
    responses: tuple[float, ...]
    waits: tuple[float, ...]

    def utilisation(self, arrivals: float, service: float) -> float:
        """The share of their time that servers are busy, of requests per second with a mean service time."""
        return arrivals * service / self.servers

    def response(self, arrivals: float, service: float) -> float:
        """The quantile of responses in seconds; infinite where the queue may grow without end."""
        return self._seconds(self.responses, arrivals, service)

    def waiting(self, arrivals: float, service: float) -> float:
        """The mean wait in seconds; infinite where the queue may grow without end."""
        return self._seconds(self.waits, arrivals, service)

    def longest_service(self, arrivals: float, response: float) -> float:
        """The longest mean service time that keeps a response in seconds, and servers below `MOST_BUSY`."""
        busy = np.linspace(0.0, MOST_BUSY, GRID)
        service = busy * self.servers / arrivals
        seconds = service * np.interp(busy, self.utilisations, self.responses)
        return float(np.interp(response, seconds, service))

    def _seconds(self, values: Sequence[float], arrivals: float, service: float) -> float:
        busy = self.utilisation(arrivals, service)
        return service * float(np.interp(busy, self.utilisations, values)) if busy <= MOST_BUSY else np.inf


def service_shape(host: Sequence[HostTurns], cores: float) -> ServiceShape | None:
    """The shape of steps on so many cores: quantiles averaged over launches, between counts in their logarithm.

    None where no steps are known. (Averages of quantiles keep a shape: Vincent 1912.)
    """
    known = [(one.cores, _mean_quantiles(one)) for one in host if one.steps]
    if not known:
        return None
    counts = np.log([count for count, _ in known])
    values = [float(np.interp(np.log(cores), counts, level)) for level in zip(*(q for _, q in known), strict=True)]
    mean = float(np.diff(LEVELS) @ (np.array(values[1:]) + values[:-1])) / 2.0
    return ServiceShape(tuple(value / mean for value in values))


def _mean_quantiles(one: HostTurns) -> tuple[float, ...]:
    """Quantiles of the steps of a point over the mean of their launch, averaged over launches."""
    ratios = [np.array(launch.quantiles) / launch.mean for launch in one.steps]
    return tuple(np.mean(ratios, axis=0).tolist())


@lru_cache(maxsize=256)
def response_curve(shape: ServiceShape, servers: int, quantile: float) -> ResponseCurve:
    """Responses and waits over utilisation, simulated; of very many servers those of `MOST_SERVERS`."""
    waits, services = _simulate(shape, min(servers, MOST_SERVERS))
    responses = np.quantile(waits + services[:, None, :], quantile, axis=(0, 2))
    return ResponseCurve(
        servers,
        (0.0, *UTILISATIONS.tolist()),
        tuple(np.maximum.accumulate([shape.quantile(quantile), *responses]).tolist()),
        tuple(np.maximum.accumulate([0.0, *waits.mean(axis=(0, 2))]).tolist()),
    )


@lru_cache(maxsize=4)
def _simulate(shape: ServiceShape, servers: int) -> tuple[Floats, Floats]:
    """Waits of requests × utilisations × chains after warm-up, and service times of requests × chains."""
    chance, size = np.random.default_rng(SEED), (WARMUP + REQUESTS, CHAINS)
    services = np.interp(chance.random(size), LEVELS, shape.values)
    gaps = chance.exponential(size=size)[:, None, :] / (servers * UTILISATIONS[:, None])
    arrivals = np.cumsum(gaps, axis=0).reshape(len(gaps), -1)
    durations = np.tile(services, len(UTILISATIONS))
    free, rows, waits = np.zeros((arrivals.shape[1], servers)), np.arange(arrivals.shape[1]), np.empty_like(arrivals)
    for request, (now, duration) in enumerate(zip(arrivals, durations, strict=True)):
        first = free.argmin(axis=1)
        start = np.maximum(now, free[rows, first])
        free[rows, first] = start + duration
        waits[request] = start - now
    shaped = waits.reshape(len(waits), len(UTILISATIONS), CHAINS)
    return shaped[WARMUP:], services[WARMUP:]
