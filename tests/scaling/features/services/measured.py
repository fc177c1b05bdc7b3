"""Services measured on this machine, in turns and as briefly as can be."""

from dataclasses import replace

from scaling.features.services.service import Service
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import Row
from scaling.running.local import LocalEngine
from scaling.study.planning import Cohort, plan, series_of_points
from scaling.study.spec import Study


def rows_of(made: Service, clients: list[int], rounds: int = 1, cores: int = 1) -> list[Row]:
    """One launch of a service in turns, on this machine."""
    keys = {"launches": 1, "timeout_seconds": 30, "max_seconds": rounds}
    study = Study(programs=[made], clients=clients, rounds=rounds, cores=[cores], **keys)
    topology = read_topology()
    runs = plan(study, topology).runs
    series = series_of_points(run.point for run in runs)
    sizes = {point: Cohort(str(number), len(points)) for number, points in enumerate(series) for point in points}
    with LocalEngine(study, topology, read_machine(topology)) as engine:
        return list(engine.execute(replace(run, cohort=sizes[run.point]) for run in runs))


def row_of(made: Service, clients: int = 1, rounds: int = 1) -> Row:
    (row,) = rows_of(made, [clients], rounds)
    return row


def figures_of(row: Row) -> dict[str, tuple[float, ...]]:
    """What its workload reported, by name."""
    return {figure.name: figure.values for figure in row.outcome.figures}
