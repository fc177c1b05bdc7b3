"""Sizes as the limits that people deploy: resources of a Kubernetes container, options of Slurm, a systemd unit.

A size is of whole physical cores. Kubernetes and systemd count hardware threads, so that a core of a machine with SMT
is as many CPUs as it has threads; Slurm counts cores where it is told not to use further threads. Requested memory is
the most that any launch has had at once, and the limit is a quarter above it, since what exceeds it is killed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from scaling.errors import visible
from scaling.reporting.words import count

# What a limit leaves above the peak that was measured.
MEMORY_MARGIN = 1.25
MIB = 2**20
MILLICORES = 1000
# The variables that most libraries take their number of threads from.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A size to deploy, per replica, and what is known of it; without `cores` the answer is no, as the sentence says.

    `threads` are used of each core, `core_threads` is how many a core of the machine has. `quotas` are sentences about
    points that were measured under a CPU quota.
    """

    name: str
    sentence: str
    cores: int | None
    threads: int = 1
    core_threads: int = 1
    replicas: int | None = None
    memory_bytes: int | None = None
    launches: int = 0
    quotas: tuple[str, ...] = ()

    @property
    def cpus(self) -> int:
        """The hardware threads of its cores, used or not: whoever else runs on one of them slows the core down."""
        return (self.cores or 0) * max(self.threads, self.core_threads)

    @property
    def used_threads(self) -> int:
        """The hardware threads that it uses."""
        return (self.cores or 0) * self.threads

    @property
    def requested_mib(self) -> int | None:
        """The most memory it had, in whole MiB."""
        return None if self.memory_bytes is None else ceil(self.memory_bytes / MIB)

    @property
    def limit_mib(self) -> int | None:
        """The memory beyond which it may be killed."""
        return None if self.memory_bytes is None else ceil(MEMORY_MARGIN * self.memory_bytes / MIB)


def kubernetes_lines(deployment: Deployment) -> list[str]:
    """A container's resources and thread variables as YAML; a limit equal to the request is never shared out."""
    cpu, memory = f"{deployment.cpus * MILLICORES}m", deployment.requested_mib
    return [
        *([f"replicas: {deployment.replicas}"] if deployment.replicas else []),
        "resources:",
        "  requests:",
        f"    cpu: {cpu}",
        *([f"    memory: {memory}Mi"] if memory is not None else []),
        "  limits:",
        f"    cpu: {cpu}",
        *([f"    memory: {deployment.limit_mib}Mi"] if memory is not None else []),
        "env:",
        *(line for name in THREAD_VARIABLES for line in (f"- name: {name}", f'  value: "{deployment.used_threads}"')),
    ]


def slurm_lines(deployment: Deployment) -> list[str]:
    """Options of a Slurm job; without further threads of a core a CPU is a core."""
    return [
        *([f"#SBATCH --array=1-{deployment.replicas}"] if deployment.replicas else []),
        "#SBATCH --ntasks=1",
        f"#SBATCH --cpus-per-task={deployment.used_threads}",
        f"#SBATCH {_slurm_threads(deployment)}",
        *([f"#SBATCH --mem={deployment.limit_mib}M"] if deployment.limit_mib is not None else []),
        *(f"export {name}={deployment.used_threads}" for name in THREAD_VARIABLES),
    ]


def _slurm_threads(deployment: Deployment) -> str:
    if deployment.threads == 1:
        return "--hint=nomultithread"
    if deployment.threads < deployment.core_threads:
        return f"--threads-per-core={deployment.threads}"
    return "--hint=multithread"


def systemd_lines(deployment: Deployment) -> list[str]:
    """The lines of a service; its CPUs are best named too, as a quota alone lets threads run anywhere."""
    memory = deployment.requested_mib
    return [
        "[Service]",
        f"CPUQuota={deployment.cpus * 100}%",
        *([f"MemoryHigh={memory}M", f"MemoryMax={deployment.limit_mib}M"] if memory is not None else []),
        *(f"Environment={name}={deployment.used_threads}" for name in THREAD_VARIABLES),
        f"# AllowedCPUs= takes the CPUs of `scaling machine place --cores {deployment.cores}{_smt_option(deployment)}`",
    ]


def _smt_option(deployment: Deployment) -> str:
    return f" --smt {deployment.threads}" if deployment.threads > 1 else ""


@dataclass(frozen=True, slots=True)
class _Format:
    """How one size is written, and what stands between two of them."""

    lines: Callable[[Deployment], list[str]]
    between: str = ""


FORMATS: Mapping[str, _Format] = {
    "kubernetes": _Format(kubernetes_lines, "---"),
    "slurm": _Format(slurm_lines),
    "systemd": _Format(systemd_lines),
}


def deployment_lines(deployments: Iterable[Deployment], form: str) -> list[str]:
    """All sizes in a format, each below comments that say what it rests on."""
    chosen, lines = FORMATS[form], list[str]()
    for deployment in deployments:
        lines += [chosen.between] if lines else []
        lines += [f"# {visible(line)}" for line in remarks(deployment)]
        lines += chosen.lines(deployment) if deployment.cores is not None else []
    return lines


def remarks(deployment: Deployment) -> Sequence[str]:
    """What a size rests on: the answer, the memory, SMT, and quotas that were measured."""
    if deployment.cores is None:
        return (deployment.sentence,)
    return (deployment.sentence, _memory_words(deployment), *_core_words(deployment), *deployment.quotas)


def _memory_words(deployment: Deployment) -> str:
    if deployment.requested_mib is None:
        return "memory was not measured, so none is requested"
    above = f"{100 * (MEMORY_MARGIN - 1):.0f} % above"
    return (
        f"memory: {deployment.requested_mib} MiB at most over {count(deployment.launches, 'run')}; the limit is {above}"
    )


def _core_words(deployment: Deployment) -> tuple[str, ...]:
    if deployment.core_threads == 1:
        return ()
    cores = count(deployment.cores or 0, "core")
    return (
        f"CPUs are hardware threads: {cores} of {deployment.core_threads} threads each, of which "
        f"{count(deployment.threads, 'thread')} per core is used",
    )
