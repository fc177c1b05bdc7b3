"""Points of a service whose figures are known: a server of a law, and how busy it and its generator were."""

from collections.abc import Iterable, Mapping

from scaling.analysis.summary import Launch, Summary, summarize
from scaling.features.services.load import doubts
from scaling.study.planning import Point

LAUNCHES = 5


def point(cores: int = 1, clients: int | None = None, rate: float | None = None, name: str = "echo") -> Point:
    settings = {"mode": "run", "size": "published", "placement": "compact", "framework": "tensorflow", "device": "cpu"}
    others = {"scale": "strong", "smt": 1, "items": "default", "intra": "auto", "inter": "auto", "jit": False}
    return Point(workload=name, cores=cores, clients=clients, rate=rate, memory="local", **settings, **others)


def usl(clients: int, contention: float = 0.05, coherency: float = 0.001, one: float = 1000.0) -> float:
    return one * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def launches(at: Point, rate: float, p99: float = 0.002, **figures: float) -> Iterable[Launch]:
    known = {
        "generator_cpus": 0.5,
        "generator_busy": 0.5,
        "server_busy": 1.0,
        "shared_cpus": 0.0,
        "p99": p99,
        **figures,
    }
    against = tuple(doubts({name: (value,) for name, value in known.items()}))
    for number in range(1, LAUNCHES + 1):
        seconds = (1 + 0.002 * (number - 3)) / rate
        noisy = {**known, "p99": known["p99"] * (1 + 0.01 * (number - 3))}
        yield Launch(at, number, seconds, 1, figures=noisy, doubts=against, peak_memory_bytes=2**27)


def summaries(rates: Mapping[Point, float], **figures: float) -> list[Summary]:
    return summarize(launch for at, rate in rates.items() for launch in launches(at, rate, **figures))


def grid(cores: Iterable[int] = (1, 2), clients: Iterable[int] = (1, 2, 4, 8, 16, 32, 64)) -> list[Summary]:
    """Twice the cores do 1.8 times as much."""
    clients = list(clients)
    return summaries({point(n, c): usl(c) * {1: 1.0, 2: 1.8, 4: 3.2}[n] for n in cores for c in clients})
