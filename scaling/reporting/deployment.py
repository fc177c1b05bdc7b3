"""Sizes as deployment limits: resources of a Kubernetes container, options of Slurm, a systemd unit.

A size is a number of physical cores. Kubernetes and systemd count every hardware thread as a CPU; Slurm counts cores
with `--hint=nomultithread`. The requested memory is the peak of all launches, and the limit is a quarter above it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from scaling.errors import visible
from scaling.reporting.words import count

# The memory limit over the measured peak.
MEMORY_MARGIN = 1.25
MIB = 2**20
# Most libraries read their number of threads from these variables.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A size to deploy, per replica; without `cores`, the sentence says why there is no size.

    Each core has `core_threads` hardware threads and uses `threads`. `quotas` are sentences about points that were
    measured under a CPU quota.
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
        """The hardware threads of its cores, used or not: a neighbour on any of them slows the core down."""
        return (self.cores or 0) * max(self.threads, self.core_threads)

    @property
    def used_threads(self) -> int:
        """The hardware threads in use."""
        return (self.cores or 0) * self.threads

    @property
    def requested_mib(self) -> int | None:
        """The peak memory in whole MiB."""
        return None if self.memory_bytes is None else ceil(self.memory_bytes / MIB)

    @property
    def limit_mib(self) -> int | None:
        """The memory limit in whole MiB."""
        return None if self.memory_bytes is None else ceil(MEMORY_MARGIN * self.memory_bytes / MIB)


def kubernetes_lines(deployment: Deployment) -> list[str]:
    """A container's resources and thread variables as YAML; with equal request and limit the CPUs are exclusive."""
    cpu, memory = f"{deployment.cpus * 1000}m", deployment.requested_mib
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
    """Options of a Slurm job."""
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
    """The lines of a service, with a hint about its CPUs, since under a quota alone threads run anywhere."""
    memory, smt = deployment.requested_mib, f" --smt {deployment.threads}" if deployment.threads > 1 else ""
    return [
        "[Service]",
        f"CPUQuota={deployment.cpus * 100}%",
        *([f"MemoryHigh={memory}M", f"MemoryMax={deployment.limit_mib}M"] if memory is not None else []),
        *(f"Environment={name}={deployment.used_threads}" for name in THREAD_VARIABLES),
        f"# for AllowedCPUs=, use the CPUs that `scaling machine place --cores {deployment.cores}{smt}` prints",
    ]


# The lines of a size, and the line between two sizes.
FORMATS: Mapping[str, tuple[Callable[[Deployment], list[str]], str]] = {
    "kubernetes": (kubernetes_lines, "---"),
    "slurm": (slurm_lines, ""),
    "systemd": (systemd_lines, ""),
}


def deployment_lines(deployments: Iterable[Deployment], form: str) -> list[str]:
    """All sizes in a format, each below its remarks as comments."""
    (to_lines, between), lines = FORMATS[form], list[str]()
    for deployment in deployments:
        lines += [between] if lines else []
        lines += [f"# {visible(line)}" for line in remarks(deployment)]
        lines += to_lines(deployment) if deployment.cores is not None else []
    return lines


def remarks(deployment: Deployment) -> Sequence[str]:
    """The basis of a size: the answer, the memory, SMT, and measured quotas."""
    if deployment.cores is None:
        return (deployment.sentence,)
    return (deployment.sentence, _memory_words(deployment), *_core_words(deployment), *deployment.quotas)


def _memory_words(deployment: Deployment) -> str:
    if deployment.requested_mib is None:
        return "memory was not measured, so no memory is requested"
    peak = f"at most {deployment.requested_mib} MiB in {count(deployment.launches, 'run')}"
    return f"memory: {peak}; the limit is {100 * (MEMORY_MARGIN - 1):.0f} % higher"


def _core_words(deployment: Deployment) -> tuple[str, ...]:
    if deployment.core_threads == 1:
        return ()
    cores = f"{count(deployment.cores or 0, 'core')} of {deployment.core_threads} threads each"
    return (f"CPUs are hardware threads: {cores}, using {count(deployment.threads, 'thread')} per core",)
