"""The grid of a search: all settings of a study of one workload on a machine. Pure.

The default sets nothing: the framework chooses its threads, a run has all hardware threads of its cores and no
compilation, and every parameter has its first value. The vendor's recipe for frameworks with two thread pools is one
thread per physical core within operations, and one operation at a time per socket.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache, cached_property
from itertools import product
from math import isfinite, prod

from scaling.errors import StudyError
from scaling.machine.placement import Request, place
from scaling.machine.topology import Cpus, Topology
from scaling.study.axes import AXES
from scaling.study.planning import Point, plan
from scaling.study.programs import PLACEHOLDERS, Program, fill_in, names_in
from scaling.study.spec import Study

DEFAULT, RECIPE = "default", "vendor recipe"

# The axes of a search other than cores; nothing changes the machine.
SEARCHED = {name: axis for name, axis in AXES.items() if axis.searched and not axis.control}

# No network is faster with more operations at once.
MOST_INTER = 16

# Planning takes a millisecond per combination of parameters.
MOST_COMBINATIONS = 10_000


class Objective(StrEnum):
    """The quantity that a search minimizes or maximizes."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    THROUGHPUT_PER_CORE = "throughput-per-core"


Parameters = Mapping[str, Sequence[str]]
Values = Mapping[str, int | float | str]


@dataclass(frozen=True)
class Grid:
    """Settings by index, each as a point and as the values of its axes; the default comes first."""

    points: tuple[Point, ...]
    values: tuple[Values, ...]
    names: Mapping[int, str]

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The axes in which settings differ."""
        return tuple(axis for axis in self.values[0] if len({values[axis] for values in self.values}) > 1)

    @property
    def searched(self) -> tuple[str, ...]:
        """The same without those that only follow the number of cores."""
        following = [name for name, axis in SEARCHED.items() if axis.follows_cpus]
        follow = [name for name in following if len({getattr(point, name) for point in self.points}) == 1]
        return tuple(axis for axis in self.varying if axis not in follow)

    @property
    def named(self) -> tuple[int, ...]:
        """The named settings except the default."""
        return tuple(index for index in self.names if index)


def parse_parameters(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Parameters of a program or workload from NAME=A,B,C."""
    parameters: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        values = tuple(dict.fromkeys(listed.split(",")))
        if not equals or not name.isidentifier() or not all(values):
            raise StudyError(f"--param {text}: use a name and its values, such as block=16,32,64")
        if name in parameters:
            raise StudyError(f"--param {name} appears twice; list all its values in one --param")
        parameters[name] = values
    return parameters


def combinations(parameters: Parameters) -> list[dict[str, str]]:
    """Every combination of the values of parameters, the first values first."""
    combined = prod(map(len, parameters.values()))
    if combined > MOST_COMBINATIONS:
        sizes = " × ".join(str(len(values)) for values in parameters.values())
        raise StudyError(
            f"--param {', '.join(parameters)}: {sizes} values make {combined:,} settings, but a search allows at most "
            f"{MOST_COMBINATIONS:,}; use fewer values"
        )
    return [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]


def workload_variants(text: str, parameters: Parameters) -> dict[str, dict[str, str]]:
    """A workload with every combination of options, by its name in a study."""
    return {
        " ".join([text, *(f"{name}={value}" for name, value in chosen.items())]): chosen
        for chosen in combinations(parameters)
    }


def program_variants(program: Program, parameters: Parameters, words: Sequence[str]) -> dict[Program, dict[str, str]]:
    """A program with every combination of parameters filled into its words, each with its own name."""
    used = names_in(words)
    for name in parameters:
        if name in PLACEHOLDERS:
            raise StudyError(f"--param {name}: scaling itself fills in {{{name}}}; choose another name")
        if name not in used:
            raise StudyError(f"--param {name}: the command line has no {{{name}}}; put it in place of the value")
    return {
        replace(
            program,
            name="+".join(
                [program.name, *(re.sub(r"[^\w.-]", "_", f"{name}.{value}") for name, value in chosen.items())]
            ),
            command=tuple(fill_in(word, chosen) for word in words),
        ): chosen
        for chosen in combinations(parameters)
    }


def doublings(most: int) -> tuple[int, ...]:
    """1, 2, 4, … and the most."""
    return tuple(sorted({*(2**power for power in range(most.bit_length())), most}))


def grid(study: Study, topology: Topology, parameters: Mapping[str, Mapping[str, str]]) -> Grid:
    """The settings of a study whose subjects are the variants of one workload, each with its parameters.

    The grid omits core counts that the study does not name, pools with more threads than CPUs, and placements on the
    same CPUs as another.
    """
    planned = {run.point for run in plan(replace(study, launches=1), topology).runs}
    if all(point.inter == "auto" for point in planned):
        study = replace(study, inter=("auto",))
    order = {name: number for number, name in enumerate(parameters)}
    in_order = sorted(
        (point for point in planned if not isinstance(study.cores, tuple) or point.cores in study.cores),
        key=lambda point: (
            *(study.placements.index(point.placement), order[point.workload], point.jit, point.smt, point.cores),
            *(study.intra.index(point.intra), study.inter.index(point.inter), str(point)),
        ),
    )
    points = _distinct(study, topology, in_order)
    largest = max(point.cores for point in points)
    default = min(
        (point for point in points if point.cores == largest),
        key=_distance,
    )
    recipe = _recipe(study, topology, default) if _has_pools(study) else None
    chosen = [point for point in points if _is_candidate(study, point)]
    ordered = tuple(dict.fromkeys((default, *filter(None, [recipe]), *chosen)))
    names = {0: DEFAULT} | ({} if recipe is None or recipe == default else {ordered.index(recipe): RECIPE})
    values = tuple(_values(point, parameters.get(point.workload, {})) for point in ordered)
    _refuse_alike(ordered, values)
    return Grid(ordered, values, names)


def _distance(point: Point) -> tuple[float, ...]:
    """A sort key: the default has all threads of its cores, and usual values."""
    unusual = [getattr(point, name) not in (None, axis.usual) for name, axis in SEARCHED.items() if name != "placement"]
    return -point.smt, *unusual


def _refuse_alike(points: Sequence[Point], values: Sequence[Values]) -> None:
    """Refuse points that differ in a key outside the grid, such as two frameworks."""
    first: dict[tuple[int | float | str, ...], Point] = {}
    for point, chosen in zip(points, values, strict=True):
        other = first.setdefault(tuple(chosen.values()), point)
        differing = [one.name for one in fields(point) if getattr(point, one.name) != getattr(other, one.name)]
        for key in (name for name in differing if name not in chosen):
            raise StudyError(
                f"a search cannot vary {key}, which is {getattr(other, key)!r} and {getattr(point, key)!r} here; "
                "use one value"
            )


def _recipe(study: Study, topology: Topology, default: Point) -> Point:
    """One thread per core within operations, and one operation at a time per socket of the run."""
    cpus = {*cpus_of(study, topology, default)}
    sockets = sum(not cpus.isdisjoint(socket) for socket in topology.sockets) or 1
    smt = min(study.smt) if isinstance(study.smt, tuple) else 1
    return replace(default, intra=default.cores, inter=sockets, smt=smt)


def _is_candidate(study: Study, point: Point) -> bool:
    """Whether each pool has at most one thread per CPU, and both pools of a framework have numbers."""
    cpus = point.cores * point.smt
    pools = ((point.intra, study.intra), (point.inter, study.inter))
    return all(
        value <= cpus if isinstance(value, int) else not (_has_pools(study) and any(isinstance(n, int) for n in listed))
        for value, listed in pools
    )


def _has_pools(study: Study) -> bool:
    """Whether its framework has two thread pools, whose sizes it chooses by default."""
    return study.inter != ("auto",)


def _distinct(study: Study, topology: Topology, points: Sequence[Point]) -> list[Point]:
    """Points without repetitions of the same CPUs and, except for frameworks, the same threads."""
    cpus = cache(lambda *where: frozenset(_place(study, topology, *where)))
    first: dict[tuple[Point, frozenset[int]], Point] = {}
    for point in points:
        same = replace(point, placement="")
        if not _has_pools(study):
            same = replace(same, intra=point.threads(point.intra) or point.cores * point.smt)
        first.setdefault((same, cpus(point.cores, point.smt, point.placement)), point)
    return list(first.values())


def cpus_of(study: Study, topology: Topology, point: Point) -> Cpus:
    """The CPUs of a point, core by core, the lowest of equivalent ones."""
    return _place(study, topology, point.cores, point.smt, point.placement)


def _place(study: Study, topology: Topology, cores: int, smt: int, placement: str) -> Cpus:
    reserve = frozenset(study.reserve)
    return place(topology, Request(cores, smt, placement, study.within, reserve, study.core_type)).flat


def _values(point: Point, parameters: Mapping[str, str]) -> dict[str, float | str]:
    """The axes of a setting, with effective thread counts, and numbers for numeric parameters."""
    axes = {name: _value(point, name) for name in SEARCHED}
    given = {name: _number(value) for name, value in parameters.items()}
    return {"cores": point.cores, **axes, **given}


def _value(point: Point, name: str) -> float | str:
    value = point.thread_counts.get(name, getattr(point, name))
    if AXES[name].follows_cpus:
        return value or point.cores * point.smt
    # Switches and threads per core have no neighbours.
    if isinstance(value, bool) or name == "smt":
        return str(value)
    return "auto" if value is None else value


def _number(text: str) -> float | str:
    """A finite number, which has neighbours, or else a word."""
    try:
        number = float(text)
    except ValueError:
        return text
    return number if isfinite(number) else text
