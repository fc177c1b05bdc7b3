"""Kinds of node that were never measured."""

from dataclasses import replace
from pathlib import Path

from scaling.features.cluster.node_types import NodeTypeEvaluation
from scaling.results.evaluation import evaluate
from scaling.results.rows import Row
from tests.scaling.reporting.results import folder_of, made

EIGHT_COUNTS = "cores = [1, 2, 3, 4, 5, 6, 7, 8]\nlaunches = 4"


def node_type_rows(
    toml: str = EIGHT_COUNTS,
    cores: int = 8,
    *,
    slower: float = 1.0,
    hosts: tuple[str, ...] = ("pretend",),
    apart: float = 0.0,
    **making: object,
) -> list[Row]:
    """Rows of a kind, its launches on machines in turn, each of them so much slower than the one before."""
    rows = []
    for row in made(toml, cores, **making):  # type: ignore[arg-type]
        turn = row.run.launch % len(hosts)
        steps = tuple(slower * (1.0 + turn * apart) * seconds for seconds in row.outcome.step_seconds)
        machine = replace(row.machine, host=hosts[turn])
        rows.append(replace(row, outcome=replace(row.outcome, step_seconds=steps), machine=machine))
    return rows


def make_node_type(
    name: str,
    path: Path,
    toml: str = EIGHT_COUNTS,
    cores: int = 8,
    *,
    core_hour: float = 1.0,
    **making: object,
) -> NodeTypeEvaluation:
    """What such a kind comes to."""
    folder = replace(folder_of(node_type_rows(toml, cores, **making), path / name, cores), name=name)  # type: ignore[arg-type]
    return NodeTypeEvaluation(name, core_hour, evaluate(folder))
