"""Jobs of a batch scheduler (Slurm, LSF, PBS) through Parsl's providers: submit one, which are alive, cancel.

A job has one node for itself, with all of its memory, is never started anew by the scheduler, and goes without `srun`,
so that it has every CPU of the node. Slurm's scripts have been run; LSF's and PBS's were compared with their
documentation only.
"""

import logging
import math
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from scaling.errors import excerpt, to_install
from scaling.features.cluster.cluster import ClusterError, NodeType
from scaling.features.cluster.folder import LOG

# Schedulers with many jobs take their time to answer.
COMMAND_SECONDS = 60

# What is said of a job that ended long ago; Parsl takes it for a failed query, and the job for a pending one.
FORGOTTEN = ("Invalid job id", "is not found", "Unknown Job Id", "has finished")


class Jobs:
    """The jobs of a node type through one of Parsl's providers, which are told everything anew at every call."""

    def __init__(self, node_type: NodeType) -> None:
        check_parsl()
        self.node_type = node_type
        self._watcher = provider(node_type, None, ())

    def submit(self, folder: Path, host: str | None, excluded: Collection[str]) -> str:
        """Submit a job for the request in a folder, on a host where one is named; its number."""
        one = provider(self.node_type, host, excluded)
        one.script_dir = str(folder)
        one.worker_init = preamble(self.node_type, folder, Path.cwd())
        command = f"exec {self.node_type.python or sys.executable} -m {__package__}.node {shlex.quote(str(folder))}"
        try:
            number = one.submit(command, 1, f"scaling.{self.node_type.name}")
        except Exception as error:  # every provider has errors of its own
            words = " ".join((getattr(error, "stderr", None) or str(error)).split())
            raise ClusterError(f"the scheduler refuses the job: {excerpt(words)}") from error
        if not number:
            raise ClusterError("the scheduler refuses the job, and Parsl does not say why; submit one by hand")
        return str(number)

    def alive(self, numbers: Sequence[str]) -> set[str]:
        """Those of these jobs that have not ended; all of them where the scheduler does not answer."""
        self._know(numbers)
        try:
            states = self._watcher.status(list(numbers))
        except Exception:  # what Parsl raises of an answer that it does not understand is not ours to list
            return set(numbers)
        return {number for number, state in zip(numbers, states, strict=True) if not state.terminal}

    def cancel(self, numbers: Sequence[str]) -> bool:
        """Cancel jobs; whether the scheduler did."""
        self._know(numbers)
        try:
            return not numbers or all(self._watcher.cancel(list(numbers)))
        except Exception:  # as above
            return False

    def _know(self, numbers: Sequence[str]) -> None:
        from parsl.jobs.states import JobState, JobStatus

        paths = {"job_stdout_path": None, "job_stderr_path": None}
        self._watcher.resources = {
            number: {"job_id": number, "status": JobStatus(JobState.PENDING), **paths} for number in numbers
        }


def check_parsl() -> None:
    """Refuse where Parsl is not installed; what it logs is said by our own sentences."""
    try:
        import parsl.providers  # noqa: F401
    except ImportError as error:
        raise ClusterError(
            f"a sweep on a cluster needs Parsl, which is not installed; {to_install('cluster')}"
        ) from error
    logging.getLogger("parsl").propagate = False
    logging.getLogger("parsl").addHandler(logging.NullHandler())


def preamble(node_type: NodeType, folder: Path, here: Path) -> str:
    """What a job does before it sweeps: it writes to its log, from the folder that the sweep was started in."""
    log, where = shlex.quote(str(folder / LOG)), shlex.quote(str(here))
    return f"exec > {log} 2>&1\ncd {where}\n{node_type.setup}\n"


def provider(node_type: NodeType, host: str | None, excluded: Collection[str]) -> Any:
    """Parsl's provider for a job of a node type, on a host where one is named, on none that is excluded."""
    from parsl.launchers import SimpleLauncher

    common = {"walltime": _clock(node_type.walltime), "launcher": SimpleLauncher(), "cmd_timeout": COMMAND_SECONDS}
    make: Callable[..., Any] = {"slurm": _slurm, "lsf": _lsf, "pbs": _pbs}[node_type.scheduler]
    return _forgiving(make(node_type, host, excluded, common), "{}" if node_type.scheduler == "pbs" else "")


def _forgiving(made: Any, nothing: str) -> Any:
    """The same, with a query for jobs that the scheduler has forgotten answered by nothing."""
    ask = made.execute_wait

    def execute_wait(command: str, timeout: float | None = None) -> tuple[int, str, str]:
        status, output, complaint = ask(command, timeout)
        forgotten = any(words in complaint for words in FORGOTTEN)
        return (0, output or nothing, complaint) if forgotten else (status, output, complaint)

    made.execute_wait = execute_wait
    return made


def _slurm(node_type: NodeType, host: str | None, excluded: Collection[str], common: dict[str, Any]) -> Any:
    from parsl.providers import SlurmProvider

    lines = ["--mem=0", "--no-requeue", *([f"--nodelist={host}"] if host else [])]
    lines += [f"--exclude={','.join(sorted(excluded))}"] if excluded else []
    return SlurmProvider(
        partition=node_type.partition,
        account=node_type.account,
        constraint=node_type.constraint,
        scheduler_options=_block("#SBATCH", [*lines, *node_type.options]),
        exclusive=True,
        **common,
    )


def _lsf(node_type: NodeType, host: str | None, excluded: Collection[str], common: dict[str, Any]) -> Any:
    from parsl.providers import LSFProvider

    selected = [*filter(None, [node_type.constraint]), *(f"hname!='{name}'" for name in sorted(excluded))]
    lines = ["-x", "-rn", *(f'-R "select[{one}]"' for one in selected), *([f"-m {host}"] if host else [])]
    return LSFProvider(
        queue=node_type.partition,
        project=node_type.account,
        scheduler_options=_block("#BSUB", [*lines, *node_type.options]),
        # One slot on a host that nobody else gets: few LSF know `-nnodes`. And `bsub FILE` reads no #BSUB lines.
        request_by_nodes=False,
        cores_per_block=1,
        cores_per_node=1,
        bsub_redirection=True,
        **common,
    )


def _pbs(node_type: NodeType, host: str | None, excluded: Collection[str], common: dict[str, Any]) -> Any:
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
    """A time in whole minutes, upwards: Parsl cuts the rest off for Slurm and LSF."""
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours:02}:{minutes:02}:00"
