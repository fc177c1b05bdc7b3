"""What a pilot does on its node: says what the node is and what a study means there, and executes runs one at a time.

`describe` and `make` are called by Parsl's worker, with a request and a reply as text. Nothing is planned
elsewhere: cores and SMT of a study mean those of the node, as far as the job may use them. Whatever a node cannot do is
a refusal in one sentence, never an exception: one of the study, or, where the node is *sick*, of this node alone.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from scaling.errors import BusyError, ScalingError, StoreError
from scaling.machine.doctor.procfs import examine
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import Machine, Topology
from scaling.results.files import replace_file
from scaling.results.machine_file import machine_differences, machine_facts
from scaling.results.rows import row_from_json, row_to_json, run_from_json, run_to_json
from scaling.running.engines.local import LocalEngine
from scaling.running.lock import MachineLock
from scaling.running.messages import (
    DescribeRequest,
    MessageError,
    NodeDescription,
    NodeRefusal,
    NodeRow,
    NodeRunRequest,
    decode,
    encode,
)
from scaling.study.catalogue import check_workloads, read_catalogue
from scaling.study.planning import incompatibility, plan
from scaling.study.spec import study_from_toml

# What schedulers call the node and the job; the host's own name stands in for the first.
NODE_VARIABLES = ("SLURMD_NODENAME",)
JOB_VARIABLES = ("SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID")

# An earlier pilot's last processes may hold the node's lock for a moment.
LOCK_SECONDS = 30.0
SECONDS_BETWEEN_LOOKS = 0.2


Reply = NodeDescription | NodeRow | NodeRefusal


def describe(request: str) -> str:
    """What this node is, and every run of a study on it."""
    return encode(_reply(lambda: _describe(decode(request, DescribeRequest))))


def execute(request: str) -> str:
    """Execute one run here; its row is also written to the spool where there is one, so that it outlives the driver.

    A run that was interrupted will be executed again, and is not written there.
    """
    try:
        wanted = decode(request, NodeRunRequest)
    except MessageError as error:
        return encode(_refusal(f"the driver's request cannot be used: {error}", sick=True))
    reply = _reply(lambda: _execute(wanted))
    text = encode(reply)
    if wanted.spool is not None and not _is_interrupted(reply):
        _write_to_spool(Path(wanted.spool), text)
    return text


def _is_interrupted(reply: Reply) -> bool:
    return isinstance(reply, NodeRow) and row_from_json(reply.row).outcome.status == "interrupted"


def _reply(work: Callable[[], Reply]) -> Reply:
    """What this node answers; whatever goes wrong is a refusal."""
    try:
        return work()
    except ScalingError as error:
        return _refusal(str(error))
    except Exception as error:  # a full disk, a user it does not know: whatever it is, other nodes may not have it
        return _refusal(f"{type(error).__name__}: {' '.join(str(error).split())}", sick=True)


def _refusal(reason: str, sick: bool = False) -> NodeRefusal:
    return NodeRefusal(*_names(), reason=reason, sick=sick)


def _describe(request: DescribeRequest) -> NodeDescription:
    study, topology = study_from_toml(request.study, request.source), _topology()
    check_workloads(study, read_catalogue())
    planned = plan(study, topology)
    another = None
    if request.begun is not None:
        begun = study_from_toml(request.begun, request.source)
        another = incompatibility(begun, study, plan(begun, topology).runs, planned.runs)
    return NodeDescription(
        *_names(),
        machine=machine_facts(_this_machine(topology), topology),
        runs=tuple(map(run_to_json, planned.runs)),
        notes=tuple(planned.notes),
        findings=tuple(examine(topology)),
        another=another,
    )


def _execute(request: NodeRunRequest) -> NodeRow | NodeRefusal:
    engine = session(request.study, request.source, request.full).engine
    here = machine_facts(engine.machine, engine.topology)
    differences = machine_differences(request.machine, here, same_host=False)
    if differences:
        return _refusal(
            f"the node is not like the first of its node type: {', '.join(differences)}; make it another node type"
        )
    (row,) = engine.execute([run_from_json(request.run)])
    return NodeRow(*_names(), row=row_to_json(row))


@dataclass(frozen=True, slots=True)
class Session:
    """What executes runs on this node for as long as the pilot lives, and the lock it holds meanwhile."""

    engine: LocalEngine
    lock: MachineLock

    def close(self) -> None:
        """Give the node back; a pilot that is killed leaves that to its reaper."""
        self.engine.__exit__(None, None, None)
        self.lock.release()


@cache
def session(toml: str, source: str, full: bool) -> Session:
    """The session for a study, begun with its first run; with `full`, rows keep the user's variables and folders."""
    study, topology = study_from_toml(toml, source), _topology()
    lock = _acquire_lock()
    try:
        engine = LocalEngine(study, topology, _this_machine(topology), held_open=(lock.fd,), full=full)
        return Session(engine, lock)
    except BaseException:
        lock.release()
        raise


def _acquire_lock() -> MachineLock:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return MachineLock(wait=False, notify=lambda _: None)
        except BusyError as error:
            if time.monotonic() >= deadline:
                raise BusyError(f"{str(error).partition(';')[0]}; the node is not free") from error
            time.sleep(SECONDS_BETWEEN_LOOKS)


@cache
def _topology() -> Topology:
    """The node as this process was given it: while it executes runs it keeps to the CPUs they leave free."""
    return read_topology()


def _this_machine(topology: Topology) -> Machine:
    """This machine under the name the scheduler has for it."""
    machine = read_machine(topology)
    return replace(machine, host=_first(os.environ, NODE_VARIABLES) or machine.host)


def _names() -> tuple[str | None, str | None]:
    """What the scheduler calls this node and this job."""
    return _first(os.environ, NODE_VARIABLES), _first(os.environ, JOB_VARIABLES)


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environment[name] for name in names if environment.get(name)), None)


def _write_to_spool(path: Path, text: str) -> None:
    """Write a reply where the next driver will look; a folder that is not there is one the node does not share."""
    with suppress(StoreError):
        replace_file(path, text)
