"""The programs and inputs of the queue: their results are the same everywhere."""

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.shared import programs
from benchmarks.shared.programs.inputs import write_inputs
from tests.conftest import need


def test_the_inputs_are_the_same_bytes_everywhere(tmp_path):
    write_inputs(tmp_path, lines=3, words=3)
    digests = {path.name: sha256(path.read_bytes()).hexdigest()[:8] for path in tmp_path.iterdir()}
    assert digests == {"lines.txt": "57f3a482", "words.txt": "1f283d99"}


def test_the_stencil_prints_the_same_sum_with_any_number_of_threads(tmp_path):
    need(shutil.which("gcc") is not None, "gcc")
    source, program = Path(programs.__file__).with_name("stencil.c"), tmp_path / "stencil"
    subprocess.run(["gcc", "-O2", "-Werror", "-Wall", "-fopenmp", source, "-o", program], check=True)
    printed = [
        subprocess.run([program, "50", "3"], env={"OMP_NUM_THREADS": threads}, capture_output=True, check=True).stdout
        for threads in ("1", "3")
    ]
    assert printed == [f"sum {_jacobi(50, 3).sum():.9g}\n".encode()] * 2


def _jacobi(size: int, iterations: int) -> np.ndarray:
    grid = np.zeros((size, size))
    grid[0] = grid[:, 0] = 1
    for _ in range(iterations):
        grid[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
    return grid
