"""The studies of frameworks and devices on a pretend machine: sixteen cores and a GPU that nobody has measured.

There are the results folders `cores` (eight networks under three frameworks on 1 to 16 cores), `devices` (training and
inference under torch and JAX on all cores and on the GPU), `gpu-cores` (host cores that feed the GPU) and `sections`
(whole processes on both devices). Steps follow the universal scalability law, with 2 % noise between launches; what a
device does in a step is invented. It shows what tables, figures and pages look like, and nothing about real networks.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path

from benchmarks.shared.machines import HOST, NETWORKS, machine, row
from scaling.analysis.device_profile import DeviceProfile, DriverCall
from scaling.results.rows import Row, Sections, row_to_json
from scaling.results.store import ROWS, Store
from scaling.study.axes import GPU
from scaling.study.catalogue import read_study_text
from scaling.study.planning import Point, Run, plan
from scaling.study.spec import Study, study_from_toml, study_to_toml

CORES, STEPS, NOISE = 16, 40, 0.02
NAMES = ", ".join(f'"{name}"' for name in NETWORKS)
# Studies by the folder they are written to, with the settings that are laid over them.
STUDIES = {
    "cores": (
        "quick",
        f"workloads=[{NAMES}]",
        'framework=["tensorflow", "torch", "jax"]',
        "cores=[1, 2, 4, 8, 16]",
        "launches=2",
    ),
    "devices": ("devices", "launches=3"),
    "gpu-cores": ("gpu_cores", "launches=2"),
    "sections": ("minsky_sections", 'framework=["torch", "jax"]', 'device=["cpu", "gpu"]', "launches=2"),
}
# A step over that of TensorFlow, and seconds for imports and for the first step on the CPU and on a GPU.
FRAMEWORKS = {"tensorflow": (1.0, 4.5, 2.0, 4.0), "torch": (1.25, 9.0, 0.5, 3.0), "jax": (0.9, 3.0, 4.0, 9.0)}
SMALL, INFERENCE = 0.1, 0.3


@dataclass(frozen=True, slots=True)
class OnGpu:
    """A network on the pretend GPU: a training step there, its operations, and what copies take of its batch."""

    seconds: float
    operations: int
    copy_seconds: float = 2e-5


# A training step of published size on one core, and on the GPU.
ONE_CORE_SECONDS = {
    "alexnet": 1.8,
    "autoenc": 0.0084,
    "deepq": 0.026,
    "memnet": 0.0055,
    "residual": 2.8,
    "seq2seq": 1.04,
    "speech": 7.7,
    "vgg": 7.2,
}
ON_GPU = {
    "alexnet": OnGpu(0.004, 180, 1.5e-3),
    "autoenc": OnGpu(0.0009, 60),
    "deepq": OnGpu(0.0012, 90),
    "memnet": OnGpu(0.0011, 140),
    "residual": OnGpu(0.010, 1200, 8e-4),
    "seq2seq": OnGpu(0.045, 5200),
    "speech": OnGpu(0.060, 3100),
    "vgg": OnGpu(0.009, 260, 5e-4),
}
# One host core prepares a batch in so many steps of the GPU.
PIPELINE = 12.0


def step_seconds(point: Point) -> float:
    """A step of a point without noise."""
    factor = INFERENCE if point.mode == "infer" else 1.0
    factor *= FRAMEWORKS[point.framework][0] * (SMALL if point.size == "small" else 1.0)
    if point.device != GPU:
        network = replace(NETWORKS[point.workload], one_core_seconds=ONE_CORE_SECONDS[point.workload])
        return factor * network.seconds(point.cores)
    own = ON_GPU[point.workload]
    fed = own.seconds * PIPELINE / point.cores if point.data == "pipeline" else 0.0
    return max(factor * own.seconds, fed) + own.copy_seconds


def profile(point: Point, step: float) -> DeviceProfile | None:
    """What a step has the device do: torch replays one graph, JAX launches kernel by kernel."""
    if point.device != GPU:
        return None
    own = ON_GPU[point.workload]
    kernels = 0.8 * min(step, own.seconds)
    launches = 1.0 if point.framework == "torch" else float(own.operations)
    launch = DriverCall("cudaGraphLaunch" if launches == 1.0 else "cuLaunchKernel", launches, launches * 3e-6)
    copies = DriverCall("cudaMemcpyAsync" if launches == 1.0 else "cuMemcpyHtoDAsync_v2", 2.0, 1.2e-5)
    wait = DriverCall("cudaStreamSynchronize" if launches == 1.0 else "cuStreamSynchronize", 1.0, 0.7 * step)
    calls = (wait, launch, copies)
    return DeviceProfile(
        *(5, step, kernels, own.copy_seconds, sum(call.seconds for call in calls), wait.seconds),
        *(float(own.operations), 2.0, calls),
    )


def rows(study: Study) -> Iterator[Row]:
    """Every run of a study as a row."""
    for run in plan(study, machine(CORES)).runs:
        chance = random.Random(f"{study.name} {run.key}")
        seconds = step_seconds(run.point) * exp(chance.gauss(0.0, NOISE))
        number = study.steps or STEPS
        steps = tuple(seconds * exp(chance.gauss(0.0, NOISE / 2)) for _ in range(number))
        yield _row(run, steps, exp(chance.gauss(0.0, NOISE)))


def _row(run: Run, steps: tuple[float, ...], noise: float) -> Row:
    point = run.point
    _, imports, on_cpu, on_gpu = FRAMEWORKS[point.framework]
    init, first = 0.4 * noise, noise * (on_gpu if point.device == GPU else on_cpu)
    starting = 0.05 + (imports if run.start == "spawn" else 0.0)
    main = init + first + sum(steps)
    sections = Sections(0.05, starting - 0.05, init, first, first, sum(steps), main, starting + main)
    made = row(
        run,
        steps,
        items_per_step=NETWORKS[point.workload].items,
        sections=sections,
        device_profile=profile(point, sum(steps) / len(steps)),
    )
    gpu = (("gpu", "Pretend G1"),) if point.device == GPU else ()
    return replace(made, versions=(*made.versions, (point.framework, "0"), *gpu))


def pretend_study(folder: str) -> Study:
    """The study of a folder; its processes run apart, as those of a pretend machine do."""
    name, *settings = STUDIES[folder]
    study = study_from_toml(read_study_text(name), name, settings)
    return replace(study, design="apart")


def write_folder(path: Path, study: Study) -> Path:
    """Write the results folder of a study on the pretend machine."""
    store = Store(path)
    store.write_study(study_to_toml(study, f"{study.name}, on a pretend machine"))
    store.write_machine(replace(HOST, cpu_model="Pretend 16"), machine(CORES))
    store.close()
    (path / ROWS.file).write_text("".join(f"{row_to_json(made)}\n" for made in rows(study)))
    return path
