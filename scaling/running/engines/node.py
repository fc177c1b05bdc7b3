"""What a pilot does on its node: says what the node is and what a study means there, and makes runs one at a time.

The two functions below are called by Parsl's worker, with an order as JSON and an answer as JSON. Nothing is planned
elsewhere: cores and SMT of a study mean those of the node, as far as the job may use them. Whatever a node cannot do is
a refusal in one sentence, never an exception: one of the study, or, where the node is *sick*, of this node alone.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from scaling.errors import BusyError, ScalingError
from scaling.machine.doctor.health import findings
from scaling.machine.doctor.procfs import read_vitals
from scaling.machine.identity import Machine, read_machine
from scaling.machine.sysfs import HERE, read_topology
from scaling.machine.topology import Topology
from scaling.results.cluster_folder import unlike
from scaling.results.rows import row_from_json, row_to_json, run_from_json, run_to_json
from scaling.results.store import machine_facts
from scaling.running.engines.local import LocalEngine
from scaling.running.lock import MachineLock
from scaling.study import compatibility
from scaling.study.catalogue import check_workloads, read_catalogue
from scaling.study.planning import plan
from scaling.study.spec import Study, study_from_toml

# What schedulers call the node and the job; the host's own name stands in for the first.
NODE_VARIABLES = ("SLURMD_NODENAME",)
JOB_VARIABLES = ("SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID")

# An earlier pilot's last processes may hold the node's lock for a moment.
LOCK_SECONDS = 30.0
SECONDS_BETWEEN_LOOKS = 0.2
WATCHED_SECONDS = 1.0


def describe(order: str) -> str:
    """What this node is, and every run of a study on it."""
    return _answered(_described, json.loads(order))


def make(order: str) -> str:
    """One run, made here; also left in the spool where there is one, so that it outlives the driver.

    A run that was interrupted will be made again, and is not left.
    """
    told = json.loads(order)
    answer = _answered(_made, told)
    if told["spool"] is not None and not _interrupted(answer):
        _leave(Path(told["spool"]), answer)
    return answer


def _interrupted(answer: str) -> bool:
    row = json.loads(answer).get("row")
    return row is not None and row_from_json(row).outcome.status == "interrupted"


def _answered(work: Any, order: dict[str, Any]) -> str:
    environment = os.environ
    answer = {"node": _first(environment, NODE_VARIABLES), "job": _first(environment, JOB_VARIABLES)}
    try:
        return json.dumps({**answer, "refused": None, "sick": False, **work(order)}, allow_nan=False)
    except ScalingError as error:
        return json.dumps({**answer, "refused": str(error), "sick": False})
    except Exception as error:  # a full disk, a user it does not know: whatever it is, other nodes may not have it
        words = " ".join(str(error).split())
        return json.dumps({**answer, "refused": f"{type(error).__name__}: {words}", "sick": True})


def _described(order: Mapping[str, Any]) -> dict[str, Any]:
    study, topology = _study(order["study"], order["source"]), _topology()
    check_workloads(study, read_catalogue())
    planned = plan(study, topology)
    refused = None
    if order["begun"] is not None:
        begun = _study(order["begun"], order["source"])
        refused = compatibility.refusal(begun, study, plan(begun, topology).runs, planned.runs)
    found = findings(topology, read_vitals(HERE, lambda: time.sleep(WATCHED_SECONDS)), os.environ)
    return {
        "machine": machine_facts(_this_machine(topology), topology),
        "runs": [run_to_json(run) for run in planned.runs],
        "notes": planned.notes,
        "findings": [asdict(each) for each in found],
        "another": refused,
    }


def _made(order: Mapping[str, Any]) -> dict[str, Any]:
    engine = session(order["study"], order["source"]).engine
    told = machine_facts(engine.machine, engine.topology)
    other = unlike(order["machine"], told)
    if other:
        return {"refused": f"the node is not like the first of its kind: {', '.join(other)}; make it another kind"}
    (row,) = engine.make([run_from_json(order["run"])])
    return {"row": row_to_json(row)}


@dataclass(frozen=True, slots=True)
class Session:
    """What makes runs on this node for as long as the pilot lives, and the lock it holds meanwhile."""

    engine: LocalEngine
    lock: MachineLock

    def close(self) -> None:
        """Give the node back; a pilot that is killed leaves that to its guardian."""
        self.engine.__exit__(None, None, None)
        self.lock.release()


@cache
def session(toml: str, source: str) -> Session:
    """The session for a study, begun with its first run."""
    study, topology = _study(toml, source), _topology()
    lock = _locked(f"study '{study.name}' of a cluster")
    try:
        return Session(LocalEngine(study, topology, _this_machine(topology), held_open=(lock.fd,)), lock)
    except BaseException:
        lock.release()
        raise


def _locked(purpose: str) -> MachineLock:
    give_up = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return MachineLock(purpose, wait=False, say=lambda _: None)
        except BusyError as error:
            if time.monotonic() >= give_up:
                raise BusyError(f"{str(error).partition(';')[0]}; the node is not free") from error
            time.sleep(SECONDS_BETWEEN_LOOKS)


@cache
def _topology() -> Topology:
    """The node as this process was given it: while it makes runs it keeps to the CPUs they leave free."""
    return read_topology()


def _study(toml: str, source: str) -> Study:
    return study_from_toml(toml, source)


def _this_machine(topology: Topology) -> Machine:
    """This machine under the name the scheduler has for it."""
    machine = read_machine(topology)
    return replace(machine, host=_first(os.environ, NODE_VARIABLES) or machine.host)


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environment[name] for name in names if environment.get(name)), None)


def _leave(path: Path, text: str) -> None:
    """Put an answer where the next driver will look; a folder that is not there is one the node does not share."""
    draft = path.with_suffix(".draft")
    with suppress(OSError), draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        draft.replace(path)
