"""A machine that measures nothing: eight cores of two threads, and runs that Amdahl's law makes."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from benchmarks.shared.machines import AmdahlMachine, machine
from benchmarks.shared.packs import PackedMachine
from scaling.machine.doctor.findings import Finding
from scaling.machine.topology import Topology
from scaling.results.rows import Row
from scaling.study.planning import Run
from scaling.study.spec import Study
from tests.scaling.machine.doctor.examined import EVERYTHING, examine


@cache
def pretend_machine(root: Path | None = None) -> Topology:
    """The machine that is swept."""
    return machine(8, 2)


@cache
def _findings() -> tuple[Finding, ...]:
    return tuple(examine(EVERYTHING).values())


def pretend_findings(topology: Topology) -> list[Finding]:
    """What the doctor finds on it."""
    return list(_findings())


class PretendEngine:
    """Makes the runs of a sweep; a program called `false` fails, and a slow one takes three times as long."""

    def __init__(self, study: Study, *known: object, **settings: object) -> None:
        has_packs = study.replicas != (1,)
        self.machine = PackedMachine(topology=pretend_machine()) if has_packs else AmdahlMachine(noise=0.003)

    def __enter__(self) -> "PretendEngine":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def execute(self, runs: Iterable[Run]) -> Iterator[Row]:
        """A row per run."""
        for run in runs:
            (row,) = self.machine.execute([run])
            if run.point.workload == "false":
                failed = replace(row.outcome, status="failed", reason="it exited with status 1", step_seconds=())
                row = replace(row, outcome=replace(failed, stderr_tail="no such planet\nand no star"))
            if "slow" in run.point.workload:
                steps = tuple(3 * seconds for seconds in row.outcome.step_seconds)
                row = replace(row, outcome=replace(row.outcome, step_seconds=steps))
            yield row
