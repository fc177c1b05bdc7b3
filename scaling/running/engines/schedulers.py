"""Batch schedulers (Slurm, LSF, PBS): the state of jobs, cancelling them, and how each is asked for a pilot.

What the commands print is parsed by pure functions. Slurm's was seen; LSF's and PBS's is as documented. Pilots are
submitted by Parsl's providers, which write the batch script: one node for itself, all of its memory, never started anew
automatically, and without `srun`, so that it has every CPU of the job. Slurm's scripts have been run; LSF's and
PBS's were compared with their documentation only.
"""

import getpass
import json
import math
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scaling.errors import ClusterError
from scaling.study.cluster import NodeType, Scheduler

State = Literal["pending", "running", "ending"]

# Schedulers with many jobs take their time to answer.
COMMAND_SECONDS = 60

NAMES: Mapping[Scheduler, str] = {"slurm": "Slurm", "lsf": "LSF", "pbs": "PBS"}

# Reasons to wait that no waiting will cure, as far as the scheduler can see.
HOPELESS = (
    *("ReqNodeNotAvail", "Nodes required for job are DOWN", "NodeDown", "PartitionDown", "PartitionInactive"),
    *("BadConstraints", "Can Never Run"),
)

SLURM_STATES: Mapping[str, State] = {
    **dict.fromkeys(("PENDING", "CONFIGURING", "REQUEUED", "RESV_DEL_HOLD", "REQUEUE_HOLD"), "pending"),
    **dict.fromkeys(("RUNNING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING"), "running"),
    **dict.fromkeys(("COMPLETING", "STAGE_OUT"), "ending"),
}
LSF_STATES: Mapping[str, State] = {
    **dict.fromkeys(("PEND", "PSUSP", "WAIT"), "pending"),
    **dict.fromkeys(("RUN", "USUSP", "SSUSP", "UNKWN"), "running"),
}
PBS_STATES: Mapping[str, State] = {
    **dict.fromkeys(("Q", "H", "W", "T"), "pending"),
    **dict.fromkeys(("R", "S", "B", "U"), "running"),
    "E": "ending",
}


@dataclass(frozen=True, slots=True)
class Job:
    """A job that the scheduler still knows; one that has ended is not there."""

    number: str
    state: State
    node: str
    reason: str

    @property
    def hopeless(self) -> bool:
        """Whether it waits for what will not come by itself."""
        return self.state == "pending" and any(words in self.reason for words in HOPELESS)


def slurm_jobs(text: str) -> list[Job]:
    """Jobs as `squeue -o '%i|%T|%N|%r'` prints them."""
    jobs = []
    for line in filter(None, map(str.strip, text.splitlines())):
        number, state, node, reason = line.split("|", 3)
        if state in SLURM_STATES:
            jobs.append(Job(number, SLURM_STATES[state], node, "" if reason == "None" else reason))
    return jobs


def lsf_jobs(text: str) -> list[Job]:
    """Jobs as `bjobs -o "jobid stat exec_host pend_reason delimiter='|'"` prints them."""
    jobs = []
    for line in filter(None, map(str.strip, text.splitlines())):
        number, state, node, reason = [*line.split("|", 3), "", "", ""][:4]
        if state in LSF_STATES:
            jobs.append(Job(number, LSF_STATES[state], node.strip("-"), reason.strip("- ")))
    return jobs


def pbs_jobs(text: str) -> list[Job]:
    """Jobs as `qstat -f -F json` prints them."""
    listed = json.loads(text).get("Jobs", {}) if text.strip() else {}
    return [
        Job(number, PBS_STATES[facts["job_state"]], facts.get("exec_host", "").partition("/")[0], _comment(facts))
        for number, facts in listed.items()
        if facts.get("job_state") in PBS_STATES
    ]


def _comment(facts: Mapping[str, str]) -> str:
    return facts.get("comment", "").removeprefix("Not Running: ")


@dataclass(frozen=True, slots=True)
class _Commands:
    query: Callable[[Sequence[str]], list[str]]
    parse: Callable[[str], list[Job]]
    cancel: str
    no_such_job: tuple[str, ...]


_COMMANDS: Mapping[Scheduler, _Commands] = {
    "slurm": _Commands(
        lambda jobs: ["squeue", "--noheader", "--user", getpass.getuser(), "--format=%i|%T|%N|%r"],
        *(slurm_jobs, "scancel", ()),
    ),
    "lsf": _Commands(
        lambda jobs: ["bjobs", "-noheader", "-o", "jobid stat exec_host pend_reason delimiter='|'", *jobs],
        *(lsf_jobs, "bkill", ("is not found", "No unfinished job")),
    ),
    "pbs": _Commands(
        lambda jobs: ["qstat", "-f", "-F", "json", *jobs],
        *(pbs_jobs, "qdel", ("Unknown Job Id", "has finished")),
    ),
}


def read_jobs(scheduler: Scheduler, numbers: Iterable[str]) -> dict[str, Job]:
    """Those of these jobs that have not ended; without numbers, only whether the scheduler answers."""
    wanted = list(numbers)
    commands = _COMMANDS[scheduler]
    printed = _query(scheduler, commands.query(wanted), commands.no_such_job)
    return {job.number: job for job in commands.parse(printed) if job.number in wanted}


def cancel_jobs(scheduler: Scheduler, numbers: Sequence[str]) -> None:
    """Have jobs cancelled; those that have ended meanwhile are no matter."""
    if numbers:
        command = _COMMANDS[scheduler].cancel
        _run(scheduler, [command, *numbers])


def _query(scheduler: Scheduler, command: list[str], no_such_job: tuple[str, ...]) -> str:
    done = _run(scheduler, command)
    if done.returncode and not any(words in done.stderr for words in no_such_job):
        words = " ".join(done.stderr.split()) or f"status {done.returncode}"
        raise ClusterError(
            f"{NAMES[scheduler]} cannot be reached: {command[0]} says '{words}'; "
            "give this command on a machine that may submit jobs"
        )
    return done.stdout


def _run(scheduler: Scheduler, command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    except FileNotFoundError as error:
        raise ClusterError(
            f"{NAMES[scheduler]} cannot be reached: there is no program '{command[0]}' here; "
            "give this command on a machine that may submit jobs"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(
            f"{NAMES[scheduler]} cannot be reached: {command[0]} did not answer within {COMMAND_SECONDS:g} s; try later"
        ) from error


def provider(node_type: NodeType, shared: bool, host: str | None) -> Any:
    """What submits pilots of a node type, on one host where it is named."""
    from parsl.launchers import SimpleLauncher

    common = {"worker_init": node_type.setup, "walltime": _clock(node_type.walltime), "launcher": SimpleLauncher()}
    submit = {"slurm": _slurm, "lsf": _lsf, "pbs": _pbs}[node_type.scheduler]
    return submit(node_type, shared, host, {**common, "cmd_timeout": COMMAND_SECONDS})


def _slurm(node_type: NodeType, shared: bool, host: str | None, common: dict[str, Any]) -> Any:
    from parsl.providers import SlurmProvider

    lines = ["--mem=0", "--no-requeue", *([f"--nodelist={host}"] if host else []), *node_type.options]
    lines += [] if shared else ["--output=/dev/null", "--error=/dev/null"]
    return SlurmProvider(
        partition=node_type.partition,
        account=node_type.account,
        constraint=node_type.constraint,
        scheduler_options=_block("#SBATCH", lines),
        exclusive=True,
        **common,
    )


def _lsf(node_type: NodeType, shared: bool, host: str | None, common: dict[str, Any]) -> Any:
    from parsl.providers import LSFProvider

    lines = ["-x", "-rn", *([f'-R "select[{node_type.constraint}]"'] if node_type.constraint else [])]
    lines += [*([f"-m {host}"] if host else []), *node_type.options]
    return LSFProvider(
        queue=node_type.partition,
        project=node_type.account,
        scheduler_options=_block("#BSUB", lines),
        # One slot on a host that nobody else gets: few LSF know `-nnodes`. And `bsub FILE` reads no #BSUB lines.
        request_by_nodes=False,
        cores_per_block=1,
        cores_per_node=1,
        bsub_redirection=True,
        **common,
    )


def _pbs(node_type: NodeType, shared: bool, host: str | None, common: dict[str, Any]) -> Any:
    from parsl.providers import PBSProProvider

    chosen = [text for text in (node_type.constraint, f"host={host}" if host else None) if text]
    return PBSProProvider(
        queue=node_type.partition,
        account=node_type.account,
        scheduler_options=_block("#PBS", ["-l place=excl", "-r n", *node_type.options]),
        select_options=":".join(chosen),
        **common,
    )


def _block(mark: str, lines: list[str]) -> str:
    return "\n".join(f"{mark} {line}" for line in lines)


def _clock(seconds: int) -> str:
    """A time in whole minutes, upwards: Parsl cuts the rest off for Slurm and LSF, and runs count on it."""
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours:02}:{minutes:02}:00"
