"""How each scheduler is asked for a pilot, through Parsl's providers: they write the batch script and submit it.

A pilot is one node for itself, all of its memory, never started anew behind our back, and without `srun`, so that it
has every CPU the job was given. Slurm's scripts have been run; LSF's and PBS's were held against their documents only.
"""

import math
from typing import Any

from scaling.study.cluster import NodeType

# Schedulers with many jobs take their time to answer.
COMMAND_SECONDS = 60


def provider(kind: NodeType, shared: bool, host: str | None) -> Any:
    """What submits pilots of a kind, on one host where it is named."""
    from parsl.launchers import SimpleLauncher

    told = {"worker_init": kind.setup, "walltime": _clock(kind.walltime), "launcher": SimpleLauncher()}
    submit = {"slurm": _slurm, "lsf": _lsf, "pbs": _pbs}[kind.scheduler]
    return submit(kind, shared, host, {**told, "cmd_timeout": COMMAND_SECONDS})


def _slurm(kind: NodeType, shared: bool, host: str | None, told: dict[str, Any]) -> Any:
    from parsl.providers import SlurmProvider

    lines = ["--mem=0", "--no-requeue", *([f"--nodelist={host}"] if host else []), *kind.options]
    lines += [] if shared else ["--output=/dev/null", "--error=/dev/null"]
    return SlurmProvider(
        partition=kind.partition,
        account=kind.account,
        constraint=kind.constraint,
        scheduler_options=_block("#SBATCH", lines),
        exclusive=True,
        **told,
    )


def _lsf(kind: NodeType, shared: bool, host: str | None, told: dict[str, Any]) -> Any:
    from parsl.providers import LSFProvider

    lines = ["-x", "-rn", *([f'-R "select[{kind.constraint}]"'] if kind.constraint else [])]
    lines += [*([f"-m {host}"] if host else []), *kind.options]
    return LSFProvider(
        queue=kind.partition,
        project=kind.account,
        scheduler_options=_block("#BSUB", lines),
        # One slot on a host that nobody else gets: few LSF know `-nnodes`. And `bsub FILE` reads no #BSUB lines.
        request_by_nodes=False,
        cores_per_block=1,
        cores_per_node=1,
        bsub_redirection=True,
        **told,
    )


def _pbs(kind: NodeType, shared: bool, host: str | None, told: dict[str, Any]) -> Any:
    from parsl.providers import PBSProProvider

    chosen = [text for text in (kind.constraint, f"host={host}" if host else None) if text]
    return PBSProProvider(
        queue=kind.partition,
        account=kind.account,
        scheduler_options=_block("#PBS", ["-l place=excl", "-r n", *kind.options]),
        select_options=":".join(chosen),
        **told,
    )


def _block(mark: str, lines: list[str]) -> str:
    return "\n".join(f"{mark} {line}" for line in lines)


def _clock(seconds: int) -> str:
    """A time in whole minutes, upwards: Parsl cuts the rest off for Slurm and LSF, and runs count on it."""
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours:02}:{minutes:02}:00"
