"""Results that were never measured: folders of any shape, for figures and pages."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import exp
from pathlib import Path

from benchmarks.shared.machines import HOST, machine, row, study
from scaling.analysis.speedup import ScalingPoint
from scaling.api.results import load
from scaling.results.evaluation import Evaluation, evaluate
from scaling.results.machine_file import read_machine_file
from scaling.results.rows import Row, Sections, row_to_json
from scaling.results.store import ROWS, Folder, Store
from scaling.study.planning import Run, plan


def with_decomposition(point: ScalingPoint, **parts: object) -> ScalingPoint:
    """A point whose efficiency was taken apart otherwise."""
    other = replace(point)
    other.__dict__["decomposition"] = replace(point.decomposition, **parts)  # type: ignore[type-var, arg-type]
    return other


def assert_question(example: str, question: str) -> None:
    """Every answer of an example folder is to this question."""
    answers = load(f"docs/examples/{example}").answers
    assert {answer.question for answer in answers} == {question}
    assert all(answer.sentence.startswith(("give ", "no answer yet for ")) for answer in answers)


EIGHT = ("alexnet", "autoenc", "deepq", "memnet", "residual", "seq2seq", "speech", "vgg")


def made(
    toml: str,
    cores: int = 8,
    smt: int = 1,
    *,
    noise: float = 0.01,
    steps: int = 40,
    serials: Sequence[float] = (0.02, 0.3, 0.15, 0.5, 0.05, 0.25, 0.1, 0.01),
    renamed: Sequence[str] = (),
) -> list[Row]:
    """The rows of a study on a pretend machine: each workload with a serial fraction of its own, steps that scatter.

    `renamed` gives the workloads other names, which no study would let through.
    """
    question = study(toml)
    rows = []
    for run in plan(question, machine(cores, smt)).runs:
        index = question.workloads.index(run.point.workload)
        seconds = _seconds(run, serials[index % len(serials)], 0.05 * (index + 1))
        if renamed:
            run = replace(run, point=replace(run.point, workload=renamed[index]))
        rows.append(_row(run, seconds, noise, steps))
    return rows


def _seconds(run: Run, serial: float, one_core_seconds: float) -> float:
    """Amdahl's law; a second thread of a core is worth a quarter, inference is three times as fast as training."""
    point = run.point
    cores = point.cores * (1.0 + 0.25 * (point.smt - 1))
    threads = [setting for setting in (point.intra, point.inter) if isinstance(setting, int)]
    crowd = 1.0 + 0.05 * sum(abs(count - 2) for count in threads)
    return one_core_seconds * (serial + (1.0 - serial) / cores) * crowd / (3.0 if point.mode == "infer" else 1.0)


def _row(run: Run, seconds: float, noise: float, steps: int) -> Row:
    # The same launch has the same chance, whatever settings points have learnt to have since.
    chance = random.Random(
        f"{run.key} {run.seed}".replace(", replicas=1, beside=None", "").replace(", onednn=None", "")
    )
    launch = seconds * exp(chance.gauss(0, noise))
    warm_up = tuple(launch * (1.0 + 1.0 / (1 + step)) for step in range(3))
    taken = (*warm_up, *(launch * exp(chance.gauss(0, 2 * noise)) for _ in range(steps)))
    run_seconds = sum(taken)
    sections = Sections(
        spawn=0.05,
        imports=5.0,
        init=1.5,
        setup=1.0 + 20 * launch,
        first_step=20 * launch,
        run=run_seconds,
        main=2.5 + 20 * launch + run_seconds,
        wall=7.8 + 20 * launch + run_seconds,
    )
    return row(run, step_seconds=taken, warmup_steps=len(warm_up), items_per_step=32, sections=sections)


def eight_by_twenty(launches: int = 5) -> list[Row]:
    """Eight workloads, twenty core counts, five launches."""
    return made(f'workloads = {list(EIGHT)}\ncores = "1-20"\nlaunches = {launches}', 20)


def stolen(row: Row) -> Row:
    """The same row on CPUs that the hypervisor gave to others."""
    return replace(row, witness=replace(row.witness, steal_seconds=1e3))


def folder_of(rows: Iterable[Row], path: Path, cores: int = 8, smt: int = 1, *, with_machine: bool = True) -> Folder:
    """A folder with these rows, and its machine where it is `told`, as it would be read."""
    if with_machine:
        store = Store(path)
        store.write_machine(HOST, machine(cores, smt))
        store.close()
    return Folder("pretend", tuple(rows), None, read_machine_file(path), None)


def written(rows: Iterable[Row], path: Path, cores: int = 8, smt: int = 1) -> Path:
    """The same on the disk."""
    store = Store(path)
    store.write_machine(HOST, machine(cores, smt))
    store.close()
    (path / ROWS.file).write_text("".join(f"{row_to_json(row)}\n" for row in rows))
    return path


def result(toml: str, path: Path, cores: int = 8, smt: int = 1, **making: object) -> Evaluation:
    """What a study on a pretend machine comes to."""
    return evaluate(folder_of(made(toml, cores, smt, **making), path, cores, smt))  # type: ignore[arg-type]
