"""Real runs on this machine, as small as they come."""

import json
import os
import sysconfig
import venv
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks.shared.machines import study
from scaling.machine.sysfs import read_machine, read_topology
from scaling.results.rows import Row
from scaling.results.traces import TracedRow
from scaling.running.local import LocalEngine
from scaling.study.planning import Run, plan, traced_plan
from scaling.study.programs import Program
from tests.conftest import ALONE


def rows_of(
    workload: str | list[str] | Program, first_launches: bool = False, in_company: bool = False, **keys: object
) -> list[Row]:
    """Every run of a study of a workload, several, or a program, made on this machine; one core unless said otherwise.

    `first_launches` makes every point once, and of the core counts the largest only. `in_company` is for tests to which
    it makes no difference who else is busy here.
    """
    file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0].removeprefix("tests/")
    assert in_company or not file or file in ALONE, "name this test's file in ALONE of tests/conftest.py"
    topology = read_topology()
    settings = {"cores": 1, "launches": 1, "max_seconds": 0.05, "timeout_seconds": 600, **keys}
    names = [workload] if isinstance(workload, str) else [] if isinstance(workload, Program) else workload
    question = study(f"workloads = {json.dumps(names or ['calibrated'])}", **{k: str(v) for k, v in settings.items()})
    if isinstance(workload, Program):
        question = replace(question, workloads=(), programs=(workload,))
    with LocalEngine(question, topology, read_machine(topology)) as engine:
        runs = plan(question, topology).runs
        most = max(run.point.cores for run in runs)
        firsts = [run for run in runs if run.point.cores == most and run.launch == 1]
        return list(engine.execute(firsts if first_launches else runs))


def traced_run(workload: str, steps: int, **keys: object) -> Run:
    """A run to be traced, with as many threads as it has cores; one op at a time unless said otherwise."""
    settings = {"cores": 1, "launches": 1, "size": "small", "intra": "cores", "inter": 1, **keys}
    question = study(
        f"workloads = {json.dumps([workload])}", **{key: json.dumps(value) for key, value in settings.items()}
    )
    return traced_plan(question, read_topology(), steps).runs[0]


def traced(runs: Iterable[Run]) -> list[TracedRow]:
    """These runs, made and traced on this machine."""
    topology = read_topology()
    with LocalEngine(study(max_seconds="0.5"), topology, read_machine(topology)) as engine:
        return list(engine.trace(runs))


def traced_of(workload: str, steps: int, **keys: object) -> TracedRow:
    """One traced run of a workload."""
    (made,) = traced([traced_run(workload, steps, **keys)])
    return made


def row_of(workload: str | Program, **keys: object) -> Row:
    """The one run of such a study of a single point, on as many cores as it asks for."""
    (row,) = rows_of(workload, first_launches=True, **keys)
    return row


def virtual_environment(path: Path, *, with_package: bool = True) -> Path:
    """A virtual environment without pip, in which this package is found or not."""
    venv.create(path, symlinks=True, with_pip=False)
    if with_package:
        folder = next(path.glob("lib/python*/site-packages"))
        (folder / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    return path
