"""Real runs on this machine, as small as they come."""

import json

from scaling.machine.identity import read_machine
from scaling.machine.sysfs import read_topology
from scaling.results.rows import Row
from scaling.results.traces import TracedRow
from scaling.running.engines.local import LocalEngine
from scaling.study.planning import plan
from scaling.study.profiling import traced_plan
from tests.pretend import study


def rows_of(workload: str | list[str], first_only: bool = False, **keys: object) -> list[Row]:
    """Every run of a study of a workload or several, made on this machine; one core unless said otherwise."""
    topology = read_topology()
    settings = {"cores": 1, "launches": 1, "max_seconds": 0.05, "timeout_seconds": 60, **keys}
    toml = f"workloads = {json.dumps([workload] if isinstance(workload, str) else workload)}"
    question = study(toml, **{key: str(value) for key, value in settings.items()})
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        runs = plan(question, topology).runs
        most = max(run.point.cores for run in runs)
        wanted = [run for run in runs if run.point.cores == most][:1] if first_only else runs
        return list(engine.make(wanted))


def traced_of(workload: str, steps: int, **keys: object) -> TracedRow:
    """One traced run of a workload, with as many threads as it has cores; one op at a time unless said otherwise."""
    topology = read_topology()
    settings = {"cores": 1, "launches": 1, "max_seconds": 0.5, "size": "small", "intra": "cores", "inter": 1, **keys}
    question = study(
        f"workloads = {json.dumps([workload])}", **{key: json.dumps(value) for key, value in settings.items()}
    )
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        return next(engine.trace(traced_plan(question, topology, steps).runs))


def row_of(workload: str, **keys: object) -> Row:
    """The first run of such a study on as many cores as it asks for."""
    return rows_of(workload, first_only=True, **keys)[0]
