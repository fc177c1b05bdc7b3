"""Every kind of figure: its name, title, one-line description, what it needs, and the function that draws it.

A new kind of figure is one function and one entry here. Command help, errors, pages and `scaling plot` are made from
this list. It imports no plotting library, so that reading it is cheap.
"""

from dataclasses import dataclass
from typing import Literal

# Rows of a results folder, traces of a profile, a profile beside `scaling sweep ceilings`, or a cluster's node types.
Needs = Literal["rows", "traces", "ceilings", "node types"]


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure; `function` is `module:name` below `scaling.reporting.plots`.

    One that is not `per_series` has no panel or bar for each of them, however many there are.
    """

    name: str
    title: str
    description: str
    needs: Needs
    function: str
    takes_target: bool = False
    per_series: bool = True


FIGURES: tuple[FigureKind, ...] = (
    FigureKind(
        "efficiency",
        "Parallel efficiency",
        "parallel efficiency with its curves",
        "rows",
        "over_cores:efficiency",
    ),
    FigureKind(
        "together",
        "Parallel efficiency of all series",
        "parallel efficiency of all series in one pair of axes",
        "rows",
        "over_cores:together",
    ),
    FigureKind(
        "speedup",
        "Speedup with its curves",
        "speedup with its curves and bands",
        "rows",
        "over_cores:speedup",
    ),
    FigureKind(
        "losses",
        "Why it stops scaling",
        "efficiency lost to idle cores and to slower computation",
        "rows",
        "losses:losses",
    ),
    FigureKind("steps", "Step times by launch", "step times launch by launch", "rows", "steps:steps"),
    FigureKind(
        "smt", "Yield of SMT threads", "throughput gained by a core's further threads", "rows", "over_cores:smt"
    ),
    FigureKind(
        "threads",
        "Threads within and between operations",
        "throughput for every number of intra and inter threads",
        "rows",
        "threads:threads",
    ),
    FigureKind("sections", "Where the time of a run goes", "parts of a run's wall time", "rows", "sections:sections"),
    FigureKind(
        "karp-flatt",
        "Serial fraction by core count",
        "Karp–Flatt serial fraction by core count",
        "rows",
        "over_cores:karp_flatt",
    ),
    FigureKind(
        "modes",
        "Training and inference",
        "parallel efficiency in training and in inference",
        "rows",
        "over_cores:modes",
    ),
    FigureKind(
        "placement",
        "Which CPUs were used",
        "the CPUs each placement used",
        "rows",
        "placement:placement",
        per_series=False,
    ),
    FigureKind(
        "capacity",
        "How many cores to give",
        "throughput of new launches and the recommended size",
        "rows",
        "capacity:capacity",
        takes_target=True,
    ),
    FigureKind(
        "packs",
        "Replicas and cores",
        "throughput against latency for every division of the cores among replicas",
        "rows",
        "packs:packs",
    ),
    FigureKind(
        "devices",
        "CPU and GPU",
        "steps of training and inference on both devices, over training on the CPU",
        "rows",
        "devices:devices",
        per_series=False,
    ),
    FigureKind("power", "Power over time", "power over time under every cap", "rows", "energy:power"),
    FigureKind(
        "caps",
        "What caps of power and clock do",
        "time and energy under caps, over those without",
        "rows",
        "energy:caps",
    ),
    FigureKind(
        "cap-kinds",
        "Power caps against clock caps",
        "energy against time under caps of power and of the clock",
        "rows",
        "energy:cap_kinds",
    ),
    FigureKind(
        "frontier",
        "Time against energy",
        "energy against time per item for every size and cap",
        "rows",
        "energy:frontier",
    ),
    FigureKind("op-steps", "Op time by step", "op time step by step", "traces", "operations:op_steps"),
    FigureKind(
        "op-tail",
        "How few op types make up most of the time",
        "cumulative share of op time by op type",
        "traces",
        "operations:op_tail",
    ),
    FigureKind("op-shares", "Which ops take the time", "share of op time by op type", "traces", "operations:op_shares"),
    FigureKind(
        "op-similarity",
        "Which workloads are similar",
        "workloads clustered by their op types",
        "traces",
        "operations:op_similarity",
    ),
    FigureKind(
        "op-modes",
        "Training and inference by op class",
        "op classes in training and in inference",
        "traces",
        "operation_scaling:op_modes",
    ),
    FigureKind(
        "op-threads", "Ops by thread count", "op times by thread count", "traces", "operation_scaling:op_threads"
    ),
    FigureKind(
        "op-losses",
        "What limits each workload",
        "the ops in which efficiency is lost",
        "traces",
        "operation_scaling:op_losses",
    ),
    FigureKind(
        "roofline",
        "Networks below the roofline",
        "achieved FLOP/s against the machine's ceilings",
        "ceilings",
        "roofline:roofline",
    ),
    FigureKind(
        "efficiency",
        "Parallel efficiency by node type",
        "parallel efficiency of the node types",
        "node types",
        "node_types:efficiency",
    ),
    FigureKind("speedup", "Speedup by node type", "speedup of the node types", "node types", "node_types:speedup"),
    FigureKind(
        "capacity",
        "Throughput by node type",
        "throughput of the node types",
        "node types",
        "node_types:capacity",
        takes_target=True,
    ),
)


def kinds(*needs: Needs) -> tuple[FigureKind, ...]:
    """The kinds of figure that need one of these, in the order they are drawn."""
    return tuple(kind for kind in FIGURES if kind.needs in needs)


def names(*needs: Needs) -> tuple[str, ...]:
    """The names of the kinds of figure that need one of these; without any, every name once."""
    return tuple(dict.fromkeys(kind.name for kind in (kinds(*needs) if needs else FIGURES)))


def help_text() -> str:
    """What `scaling plot` can draw, for its help."""
    points, traces = (", ".join(names(needs)) for needs in ("rows", "traces"))
    return f"{points}; of a profile {traces}; {', '.join(names('ceilings'))}. Default: all that the folder has."
