"""The program of a job on its node: an ordinary sweep of its shard, into the folder of the job.

    python -P -m scaling.features.cluster.node FOLDER

The study is planned on the node, for the cores and SMT that the job may use. The first node defines its node type;
nodes that differ from it are refused.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

from scaling.api.measuring import Job, carry_out_job, prepare
from scaling.cli.measuring import Progress
from scaling.errors import Interrupted, ScalingError, StoreError
from scaling.features.cluster.folder import (
    ASKED,
    Ended,
    JobFolder,
    Planned,
    Request,
    Shard,
    Started,
    create_file,
    has_rows,
)
from scaling.results.machine_file import MACHINE, machine_differences, machine_facts, read_machine_facts
from scaling.results.rows import planned_launch
from scaling.results.store import STUDY, read_rows, read_study_toml
from scaling.running.program_files import program_files, refuse_changed_files
from scaling.running.schedule import Schedule
from scaling.study.planning import block, plan
from scaling.study.spec import incompatibility, study_from_toml

# Variables of schedulers with the names of the node and the job; without the first, the host name is used.
NODE_VARIABLES = ("SLURMD_NODENAME",)
JOB_VARIABLES = ("SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID")


class NodeRefusedError(Exception):
    """This node cannot do the job, but another may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardJob(Job):
    """A shard of a study planned for this node; `node_type` is the folder with the rows of other jobs."""

    shard: Shard
    node_type: Path

    def schedule(self) -> Schedule:
        """The runs of the shard that the node type does not have yet."""
        rows = (row for folder in (self.node_type, self.folder) if has_rows(folder) for row in read_rows(folder))
        points = list(dict.fromkeys(run.point for run in self.plan.runs))
        return Schedule(
            self.study,
            [run for run in self.plan.runs if self.shard.has(run.launch)],
            map(planned_launch, rows),
            self.budget_seconds,
            further_block=lambda launch: block(self.study, self.topology, points, launch),
            next_launch=self.shard.next_after,
        )


def run_job(job: JobFolder) -> Ended | None:
    """Sweep the shard of a job; None if it was withdrawn."""
    if not job.claim(Started(_node_name(), _first(JOB_VARIABLES))):
        return None
    ended = _outcome(lambda: _sweep(job))
    job.write(ended)
    return ended


def _outcome(work: Callable[[], None]) -> Ended:
    try:
        work()
    except Interrupted:
        return Ended("stopped", "it was interrupted")
    except NodeRefusedError as error:
        return Ended("refused", str(error))
    except ScalingError as error:
        return Ended("failed", str(error))
    except Exception as error:  # a full disk, an unknown user: other nodes may not have the fault
        traceback.print_exc()
        return Ended("refused", f"{type(error).__name__}: {' '.join(str(error).split())}")
    return Ended("done")


def _sweep(job: JobFolder) -> None:
    request = job.read(Request)
    assert request is not None
    shard = _prepare(job, request)
    _refuse_another_machine(shard)
    _refuse_another_study(shard)
    job.write(Planned(len(shard.plan.runs), tuple(shard.notes)))
    if shard.schedule().pending or request.budget is not None:
        carry_out_job(shard, None, True, Progress())


def _prepare(job: JobFolder, request: Request) -> ShardJob:
    whole = prepare(job.path / ASKED, job.path, budget=request.budget, full=request.full)
    facts = {one.name: getattr(whole, one.name) for one in fields(whole)}
    facts["machine"] = replace(whole.machine, host=_node_name())
    return ShardJob(**facts, shard=request.shard, node_type=job.path.parent.parent / request.node_type)


def _refuse_another_machine(job: ShardJob) -> None:
    """Refuse a node that differs from the first of its node type, unless this is the first."""
    here = machine_facts(job.machine, job.topology)
    if not create_file(job.node_type / MACHINE, json.dumps(here, indent=1) + "\n"):
        first = read_machine_facts(job.node_type) or {}
        if differences := machine_differences(first, here, same_host=False):
            raise NodeRefusedError(
                f"the node differs from the first node of its type: {', '.join(differences)}; use another node type"
            )


def _refuse_another_study(job: ShardJob) -> None:
    """Refuse a study that drops runs which the node type was begun with, or that measures changed files."""
    toml = read_study_toml(job.node_type)
    if toml is not None:
        begun = study_from_toml(toml, str(job.node_type / STUDY))
        if why := incompatibility(begun, job.study, job.plan.drops(plan(begun, job.topology))):
            raise StoreError(f"{job.node_type} holds another study: {why}; choose another folder with -o")
    if has_rows(job.node_type):
        refuse_changed_files(job.node_type, read_rows(job.node_type), program_files(job.study))


def _node_name() -> str:
    return _first(NODE_VARIABLES) or os.uname().nodename


def _first(names: tuple[str, ...]) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)


if __name__ == "__main__":
    ended = run_job(JobFolder(Path(sys.argv[1])))
    print("this job was withdrawn" if ended is None else ended.reason or ended.status)
    sys.exit(0 if ended is None or ended.status == "done" else 1)
