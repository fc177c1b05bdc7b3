"""Jobs of a batch scheduler (Slurm, LSF or PBS) through Parsl's providers.

A job has a node to itself with all of its memory, is never requeued, and runs without `srun`, so it has every CPU of
the node. The scripts for Slurm have been run; those for LSF and PBS were only compared with the documentation.
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

# Schedulers with many jobs are slow to answer.
COMMAND_SECONDS = 60

# Messages about jobs that ended long ago, which Parsl mistakes for a failed query of a pending job.
FORGOTTEN = ("Invalid job id", "is not found", "Unknown Job Id", "has finished")


class Jobs:
    """The jobs of a node type through one of Parsl's providers, whose state is set for every call."""

    def __init__(self, node_type: NodeType) -> None:
        check_parsl()
        self.node_type = node_type
        self._watcher = provider(node_type, None, ())

    def submit(self, folder: Path, host: str | None, excluded: Collection[str]) -> str:
        """Submit a job for the request in a folder, on `host` if it is named; the job's number."""
        one = provider(self.node_type, host, excluded)
        one.script_dir = str(folder)
        # The job starts in the folder of the sweep and writes to its own log.
        log, here = shlex.quote(str(folder / LOG)), shlex.quote(str(Path.cwd()))
        one.worker_init = f"exec > {log} 2>&1\ncd {here}\n{self.node_type.setup}\n"
        python = self.node_type.python or shlex.quote(sys.executable)
        # A module in the folder of the sweep must not replace one of ours or of Python's.
        command = f"exec {python} -P -m {__package__}.node {shlex.quote(str(folder))}"
        try:
            number = one.submit(command, 1, f"scaling.{self.node_type.name}")
        except Exception as error:  # every provider has its own errors
            words = " ".join((getattr(error, "stderr", None) or str(error)).split())
            raise ClusterError(f"the scheduler refused the job: {excerpt(words)}") from error
        if not number:
            raise ClusterError(
                "the scheduler refused the job, and Parsl reports no reason; submit a job by hand to see the reason"
            )
        return str(number)

    def alive(self, numbers: Sequence[str]) -> set[str]:
        """The jobs that have not ended; all of them if the scheduler does not answer."""
        self._know(numbers)
        try:
            states = self._watcher.status(list(numbers))
        except Exception:  # Parsl raises various errors for an answer that it does not understand
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
    """Refuse to go on without Parsl, and silence its log, which our own sentences replace."""
    try:
        import parsl.providers  # noqa: F401
    except ImportError as error:
        raise ClusterError(
            f"a sweep on a cluster needs Parsl, which is not installed; {to_install('cluster')}"
        ) from error
    logging.getLogger("parsl").propagate = False
    logging.getLogger("parsl").addHandler(logging.NullHandler())


def provider(node_type: NodeType, host: str | None, excluded: Collection[str]) -> Any:
    """Parsl's provider for a job of a node type, on `host` if it is named, else on no excluded host except with PBS.

    PBS has no option for that: resources of a chunk can only be equal to a value.
    """
    from parsl.launchers import SimpleLauncher

    common = {"walltime": _clock(node_type.walltime), "launcher": SimpleLauncher(), "cmd_timeout": COMMAND_SECONDS}
    make: Callable[..., Any] = {"slurm": _slurm, "lsf": _lsf, "pbs": _pbs}[node_type.scheduler]
    return _forgiving(make(node_type, host, excluded, common), "{}" if node_type.scheduler == "pbs" else "")


def _forgiving(provider: Any, empty: str) -> Any:
    """The provider, with an empty answer to a query for jobs that the scheduler has forgotten."""
    ask = provider.execute_wait

    def execute_wait(command: str, timeout: float | None = None) -> tuple[int, str, str]:
        status, output, complaint = ask(command, timeout)
        forgotten = any(words in complaint for words in FORGOTTEN)
        return (0, output or empty, complaint) if forgotten else (status, output, complaint)

    provider.execute_wait = execute_wait
    return provider


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
        # One slot on an exclusive host, since few versions of LSF have `-nnodes`; `bsub FILE` ignores #BSUB lines.
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
    """A time rounded up to minutes, since Parsl truncates seconds for Slurm and LSF."""
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours:02}:{minutes:02}:00"
