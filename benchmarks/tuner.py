"""The search of `scaling tune` against other searches, on response surfaces whose best setting is known.

    python -m benchmarks.tuner [--trials 200] [--seed 1] [--cost 0.25] [--shape NAME]… [--host NAME]…

A machine with 64 cores, two sockets and two threads per core. Settings are intra × inter × threads per core ×
placement, 160 in all, and TensorFlow's default, a thread per CPU in both pools. A shape is a family of surfaces, of
which every trial draws one by its seed:

- valley: one smooth minimum somewhere in intra and inter
- cliff: operations of limited width that share cores; time leaps once intra × inter exceeds the CPUs
- smt: second threads help memory-bound surfaces and hurt the others, the more the more threads there are
- numa: beyond the threads of one socket compact placement pays a step, scattered placement a part of it at any number
- plateau: all but few threads are as good as the default, within a percent or two
- two optima: two valleys far apart, of which one is deeper by 3 to 10 %

A host says how launches scatter, as measured on shared machines; logarithms of a launch add up:

- quiet: launches of one process differ by 2 %
- two-state: besides, one launch in eight runs at the slower one of two speeds, 15 to 35 %, all or half of the time
- drifting: 3 % between launches, one-sided delays of 2 % in the mean, and a level that wanders by 4 % per cohort

The cost of a search is its launches. That of the grid is what a sweep makes of it: five launches, the default of a
study, of every setting. All searches may spend a quarter of it, or what --cost says. Random search, Nelder and Mead's
simplex (SciPy, on the logarithms of counts, rounded to the grid, begun anew wherever it ends) and TPE (Optuna) see one
launch after another and are spared the wandering level altogether; each measures a setting with 1, 3 or 5 launches and
takes their median, and the best of the three is printed. Trials are spread over the shapes.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import exp, log, log2
from statistics import median

import numpy as np
from numpy.typing import NDArray

from scaling.errors import to_install
from scaling.features.tuning.search import CohortLogs, Space, next_cohort, outcome, space

Floats = NDArray[np.float64]

CORES, SOCKETS, SMT = 64, 2, 2
INTRA = (1, 2, 4, 8, 16, 32, 64, 128)
INTER = (1, 2, 4, 8, 16)
PLACEMENTS = ("compact", "scatter")

GRID_LAUNCHES = 5
COST_SHARE = 0.25
WITHIN = 0.02
REPLICATES = (1, 3, 5)


@dataclass(frozen=True, slots=True)
class Setting:
    """Threads in both pools, threads per core, and which cores come first."""

    intra: int
    inter: int
    smt: int
    placement: str

    @property
    def values(self) -> dict[str, float | str]:
        """Its axes."""
        return {"intra": self.intra, "inter": self.inter, "smt": str(self.smt), "placement": self.placement}


GRID = tuple(Setting(*values) for values in product(INTRA, INTER, (1, SMT), PLACEMENTS))
DEFAULT = Setting(CORES * SMT, CORES * SMT, SMT, "compact")
RECIPE = Setting(CORES, SOCKETS, 1, "compact")
SETTINGS = (DEFAULT, *GRID)


def search_space() -> Space:
    """The settings as the search sees them: the default lies beyond the end of inter."""
    return space([setting.values for setting in SETTINGS], [SETTINGS.index(RECIPE)])


Surface = Callable[[Setting], float]


def valley(chance: np.random.Generator) -> Surface:
    """A smooth minimum."""
    intra, inter = chance.uniform(2, 6.5), chance.uniform(0, 3)
    across, along = chance.uniform(0.01, 0.04, 2)
    tilt = chance.uniform(-0.015, 0.015)
    smt, placement = chance.uniform(-0.08, 0.08, 2)

    def seconds(one: Setting) -> float:
        x, y = log2(one.intra) - intra, log2(one.inter) - inter
        offset = smt * (one.smt == SMT) + placement * (one.placement == "scatter")
        return exp(float(across * x * x + along * y * y + tilt * x * y + offset))

    return seconds


def cliff(chance: np.random.Generator) -> Surface:
    """Operations of limited width on shared cores."""
    width, serial, coherency = chance.uniform(1, 8), chance.uniform(0.02, 0.15), chance.uniform(1e-4, 3e-3)
    leap, smt_yield, scatter = chance.uniform(0.1, 0.4), chance.uniform(0.9, 1.25), chance.uniform(-0.05, 0.08)

    def seconds(one: Setting) -> float:
        at_once = min(float(one.inter), width)
        cpus = CORES * (smt_yield if one.smt == SMT else 1.0)
        share = min(1.0, cpus / (one.intra * at_once))
        operation = serial + (1 - serial) / (one.intra * share) + coherency * one.intra
        over = one.intra * one.inter > CORES * one.smt
        crowd = leap * min(2.0, 1 + log2(one.intra * one.inter / (CORES * one.smt)) / 3) if over else 0.0
        slower = exp(crowd + scatter * (one.placement != "compact")) * (1 + 0.01 * log2(one.inter))
        return float(operation / at_once**0.9 * slower)

    return seconds


def smt(chance: np.random.Generator) -> Surface:
    """Second threads help or hurt with the number of threads."""
    effect, centre = chance.uniform(-0.25, 0.25), chance.uniform(3, 6.5)
    inter, steep = chance.uniform(0, 2.5), chance.uniform(0.015, 0.04)

    def seconds(one: Setting) -> float:
        x = log2(one.intra) - centre - (0.7 if one.smt == SMT else 0.0)
        busy = log2(one.intra) / 7
        scatter = -0.03 * busy if one.placement == "scatter" else 0.0
        return exp(steep * x * x + 0.02 * (log2(one.inter) - inter) ** 2 + effect * busy * (one.smt == SMT) + scatter)

    return seconds


def numa(chance: np.random.Generator) -> Surface:
    """A step where threads reach the second socket."""
    step, share, serial = chance.uniform(0.08, 0.35), chance.uniform(0.2, 0.9), chance.uniform(0.01, 0.08)
    inter, smt_effect = chance.uniform(0, 2), chance.uniform(-0.06, 0.1)

    def seconds(one: Setting) -> float:
        per_socket = CORES // SOCKETS * one.smt
        if one.placement == "compact":
            remote = step if one.intra > per_socket else 0.0
        else:
            remote = share * step if one.intra > 1 else 0.0
        threads = min(one.intra, CORES * one.smt)
        law = float(serial + (1 - serial) / threads**0.9)
        return law * exp(remote + 0.025 * (log2(one.inter) - inter) ** 2 + smt_effect * (one.smt == SMT))

    return seconds


def plateau(chance: np.random.Generator) -> Surface:
    """Anything from some threads on is as good as the default."""
    knee, ripple = chance.uniform(2, 5), chance.uniform(0.002, 0.008)
    unevenness = {
        setting: float(value) for setting, value in zip(SETTINGS, chance.normal(0, ripple, len(SETTINGS)), strict=True)
    }
    unevenness[DEFAULT] = -ripple
    rise = chance.uniform(0.1, 0.3)

    def seconds(one: Setting) -> float:
        return exp(rise * max(0.0, knee - log2(one.intra)) + unevenness[one])

    return seconds


def two_optima(chance: np.random.Generator) -> Surface:
    """Two valleys, one somewhat deeper."""
    deeper = chance.uniform(0.03, 0.10)
    places = [(chance.uniform(1, 2.5), chance.uniform(2.5, 4)), (chance.uniform(5, 6.5), chance.uniform(0, 1))]
    depths = [0.5 + deeper, 0.5] if chance.random() < 0.5 else [0.5, 0.5 + deeper]
    smt_effect, scatter = chance.uniform(-0.06, 0.06, 2)

    def seconds(one: Setting) -> float:
        x, y = log2(one.intra), log2(one.inter)
        dips = [
            depth * exp(-((x - a) ** 2) / 4 - (y - b) ** 2 / 3) for depth, (a, b) in zip(depths, places, strict=True)
        ]
        return exp(-max(dips) + smt_effect * (one.smt == SMT) + scatter * (one.placement == "scatter"))

    return seconds


SHAPES: dict[str, Callable[[np.random.Generator], Surface]] = {
    "valley": valley,
    "cliff": cliff,
    "smt": smt,
    "numa": numa,
    "plateau": plateau,
    "two optima": two_optima,
}


@dataclass(frozen=True, slots=True)
class Host:
    """How launches scatter, as logarithms."""

    launch: float = 0.02
    slow_share: float = 0.0
    one_sided: float = 0.0
    drift: float = 0.0

    def noise(self, chance: np.random.Generator, number: int) -> Floats:
        """What so many launches are slower by."""
        noise = chance.normal(0.0, self.launch, number)
        slow = chance.random(number) < self.slow_share
        factor = np.log(chance.uniform(1.15, 1.35, number)) * chance.choice([0.5, 1.0], number)
        delays = chance.exponential(self.one_sided, number) if self.one_sided else 0.0
        scattered: Floats = noise + slow * factor + delays
        return scattered


HOSTS = {
    "quiet": Host(),
    "two-state": Host(slow_share=0.125),
    "drifting": Host(launch=0.03, one_sided=0.02, drift=0.04),
}


@dataclass(slots=True)
class Machine:
    """A surface on a host: makes launches, and counts them."""

    logs: Floats
    host: Host
    chance: np.random.Generator
    limit: int
    launches: int = 0
    level: float = 0.0
    cache: dict[int, float] = field(default_factory=dict)

    def cohort(self, settings: Sequence[int]) -> dict[int, float]:
        """One launch of each setting, in turns, at the level that the host has meanwhile."""
        self.launches += len(settings)
        self.level += float(self.chance.normal(0.0, self.host.drift)) if self.host.drift else 0.0
        times = self.logs[list(settings)] + self.level + self.host.noise(self.chance, len(settings))
        return dict(zip(settings, map(float, times), strict=True))

    def median(self, setting: int, replicates: int) -> float:
        """The median of launches of one setting on a host that does not wander; kept, as a rival would."""
        if setting not in self.cache:
            if self.launches + replicates > self.limit:
                raise SpentError
            self.launches += replicates
            self.cache[setting] = float(np.median(self.logs[setting] + self.host.noise(self.chance, replicates)))
        return self.cache[setting]

    def fastest(self) -> int:
        """The setting with the lowest median so far."""
        return min(self.cache, key=self.cache.__getitem__)


class SpentError(Exception):
    """All launches are made."""


def tune(machine: Machine, grid: Space) -> int:
    """The search of `scaling tune`."""
    made: list[CohortLogs] = []
    while proposal := next_cohort(grid, made, machine.limit - machine.launches):
        made.append(CohortLogs(machine.cohort(proposal.settings), proposal.confirms))
    winner = outcome(grid, made).winner
    assert winner is not None
    return winner


def random_search(machine: Machine, replicates: int) -> int:
    """Settings at random, none twice."""
    for setting in machine.chance.permutation(len(SETTINGS)):
        try:
            machine.median(int(setting), replicates)
        except SpentError:
            break
    return machine.fastest()


def nelder_mead(machine: Machine, replicates: int) -> int:
    """The downhill simplex on the logarithms of counts, rounded, begun anew wherever it ends."""
    from scipy.optimize import minimize

    index = {setting: number for number, setting in enumerate(SETTINGS)}
    axes = (INTRA, INTER, (1, SMT), PLACEMENTS)

    def seconds(x: Floats) -> float:
        level = [round(min(max(float(at), 0.0), len(values) - 1.0)) for at, values in zip(x, axes, strict=True)]
        nearest = Setting(INTRA[level[0]], INTER[level[1]], (1, SMT)[level[2]], PLACEMENTS[level[3]])
        return machine.median(index[nearest], replicates)

    machine.median(0, replicates)
    for _ in range(1000):
        begin = np.array([machine.chance.uniform(0, len(values) - 1) for values in axes])
        corners = [begin] + [
            begin + np.eye(len(axes))[axis] * (len(values) / 2) * (1 if begin[axis] < (len(values) - 1) / 2 else -1)
            for axis, values in enumerate(axes)
        ]
        try:
            minimize(
                seconds,
                begin,
                method="Nelder-Mead",
                options={"initial_simplex": np.array(corners), "xatol": 0.5, "fatol": 0.005, "maxfev": 200},
            )
        except SpentError:
            break
    return machine.fastest()


def tpe(machine: Machine, replicates: int) -> int:
    """Optuna's tree-structured Parzen estimator, told of the default first."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=int(machine.chance.integers(2**31)), multivariate=True)
    study = optuna.create_study(sampler=sampler)
    index = {setting: number for number, setting in enumerate(SETTINGS)}
    measured: dict[int, list[float]] = {0: [machine.median(0, replicates)]}
    while machine.launches + replicates <= machine.limit:
        trial = study.ask()
        levels = (
            2 ** trial.suggest_int("intra", 0, len(INTRA) - 1),
            2 ** trial.suggest_int("inter", 0, len(INTER) - 1),
            trial.suggest_categorical("smt", [1, SMT]),
            trial.suggest_categorical("placement", list(PLACEMENTS)),
        )
        setting = index[Setting(*levels)]
        machine.cache.pop(setting, None)
        value = machine.median(setting, replicates)
        measured.setdefault(setting, []).append(value)
        study.tell(trial, value)
    return min(measured, key=lambda setting: median(measured[setting]))


RIVALS = {"random search": random_search, "Nelder–Mead": nelder_mead, "TPE (Optuna)": tpe}


@dataclass(frozen=True, slots=True)
class Trial:
    """What a search of one trial came to: how much slower its setting is than the best one, and its launches."""

    shape: str
    regret: float
    launches: int


def trial(shape: str, host: str, number: int, seed: int, search: Callable[[Machine], int], cost: float) -> Trial:
    """One trial of a search that may cost so much of the grid; the same seed and number have the same surface."""
    surface = SHAPES[shape](np.random.default_rng([seed, number, *map(ord, shape)]))
    logs = np.array([log(surface(setting)) for setting in SETTINGS])
    limit = int(cost * GRID_LAUNCHES * len(SETTINGS))
    machine = Machine(logs, HOSTS[host], np.random.default_rng([seed, number, *map(ord, shape + host)]), limit)
    ended = search(machine)
    return Trial(shape, float(np.exp(logs[ended] - logs.min()) - 1), machine.launches)


def summary(made: Sequence[Trial]) -> tuple[float, float, float]:
    """The share within two percent of the best, the median regret, and the cost as a share of the grid's."""
    within = sum(one.regret <= WITHIN for one in made) / len(made)
    cost = sum(one.launches for one in made) / len(made) / (GRID_LAUNCHES * len(SETTINGS))
    return within, median(one.regret for one in made), cost


def _words(figures: tuple[float, float, float]) -> str:
    within, regret, cost = figures
    return f"{100 * within:.1f} % | {100 * regret:.2f} % | {100 * cost:.1f} %"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--host", action="append", choices=HOSTS)
    parser.add_argument("--only", action="append", choices=["tune", *RIVALS])
    parser.add_argument(
        "--cost", type=float, default=COST_SHARE, help="share of the grid's cost that a search may spend"
    )
    given = parser.parse_args()
    shapes, hosts = given.shape or [*SHAPES], given.host or [*HOSTS]
    rivals = {name: search for name, search in RIVALS.items() if not given.only or name in given.only}
    try:
        import optuna  # noqa: F401
    except ImportError:
        rivals.pop("TPE (Optuna)", None)
        print(f"Optuna is not installed, so TPE is left out; {to_install('benchmarks')}")
    grid = search_space()
    searches: dict[str, list[Callable[[Machine], int]]] = {
        name: [partial(search, replicates=number) for number in REPLICATES] for name, search in rivals.items()
    }
    if not given.only or "tune" in given.only:
        searches = {"tune": [partial(tune, grid=grid)], **searches}
    print(f"{len(SETTINGS)} settings; the grid takes {GRID_LAUNCHES * len(SETTINGS)} launches\n")
    print("host | shape | search | trials | within 2 % of the best | median regret | cost, of the grid's")
    print("|".join(["---"] * 7))
    for host, (name, variants) in product(hosts, searches.items()):
        results = [_all_trials(shapes, host, given.trials, given.seed, search, given.cost) for search in variants]
        best = max(results, key=lambda made: (summary(made)[0], -summary(made)[1]))
        for shape in [*shapes, "all"] if name == "tune" else ["all"]:
            made = [one for one in best if shape in (one.shape, "all")]
            if made:
                print(f"{host} | {shape} | {name} | {len(made)} | {_words(summary(made))}", flush=True)


def _all_trials(
    shapes: Sequence[str], host: str, number: int, seed: int, search: Callable[[Machine], int], cost: float
) -> list[Trial]:
    """So many trials, spread over the shapes."""
    return [trial(shapes[at % len(shapes)], host, at, seed, search, cost) for at in range(number)]


if __name__ == "__main__":
    main()
