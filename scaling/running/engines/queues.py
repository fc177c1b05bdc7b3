"""Asks a batch scheduler what has become of jobs, and cancels them: Slurm, LSF and PBS.

What the commands print is understood by pure functions. Slurm's was seen; LSF's and PBS's is as documented.
"""

import getpass
import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scaling.errors import ClusterError
from scaling.study.cluster import Scheduler

State = Literal["pending", "running", "ending"]

PATIENCE_SECONDS = 60.0

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
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        number, state, node, reason = line.split("|", 3)
        if state in SLURM_STATES:
            found.append(Job(number, SLURM_STATES[state], node, "" if reason == "None" else reason))
    return found


def lsf_jobs(text: str) -> list[Job]:
    """Jobs as `bjobs -o "jobid stat exec_host pend_reason delimiter='|'"` prints them."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        number, state, node, reason = [*line.split("|", 3), "", "", ""][:4]
        if state in LSF_STATES:
            found.append(Job(number, LSF_STATES[state], node.strip("-"), reason.strip("- ")))
    return found


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
    question: Callable[[Sequence[str]], list[str]]
    understand: Callable[[str], list[Job]]
    cancel: str
    none_found: tuple[str, ...]


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
    told = _said(scheduler, commands.question(wanted), commands.none_found)
    return {job.number: job for job in commands.understand(told) if job.number in wanted}


def cancel_jobs(scheduler: Scheduler, numbers: Sequence[str]) -> None:
    """Have jobs cancelled; those that have ended meanwhile are no matter."""
    if numbers:
        command = _COMMANDS[scheduler].cancel
        _run(scheduler, [command, *numbers])


def _said(scheduler: Scheduler, command: list[str], none_found: tuple[str, ...]) -> str:
    done = _run(scheduler, command)
    if done.returncode and not any(words in done.stderr for words in none_found):
        words = " ".join(done.stderr.split()) or f"status {done.returncode}"
        raise ClusterError(
            f"{NAMES[scheduler]} cannot be reached: {command[0]} says '{words}'; "
            "give this command on a machine that may submit jobs"
        )
    return done.stdout


def _run(scheduler: Scheduler, command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    except FileNotFoundError as error:
        raise ClusterError(
            f"{NAMES[scheduler]} cannot be reached: there is no program '{command[0]}' here; "
            "give this command on a machine that may submit jobs"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(
            f"{NAMES[scheduler]} cannot be reached: {command[0]} said nothing for {PATIENCE_SECONDS:g} s; try later"
        ) from error
