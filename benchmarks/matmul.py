"""A TensorFlow step of a few matrix products, for `scaling`, for pyperf and for a plain loop.

python -m benchmarks.matmul pyperf [options]               pyperf times it
python -m benchmarks.matmul pyperf-in-turn PATH [options]  the same, one value per turn
python -m benchmarks.matmul loop-in-turn PATH              prints the median step of a plain loop, in turns
"""

import os
import sys
import time
from collections.abc import Callable
from statistics import median

import tensorflow as tf

from benchmarks.turns import STEPS_IN_A_TURN, TURNS, Turns

SIDE, PRODUCTS = 768, 3


class Matmul:
    """A traced chain of products whose result is waited for."""

    items_per_step = 1

    def prepare(self) -> None:
        """Make the matrix, scaled so that its powers stay finite."""
        self.matrix = tf.random.stateless_normal((SIDE, SIDE), (1, 2)) / SIDE**0.5
        self.chain = tf.function(_chain)

    def step(self) -> None:
        """One chain."""
        self.chain(self.matrix).numpy()


class MatmulInTurn:
    """The same, which waits for its turn before it takes and times its steps."""

    items_per_step = 1

    def __init__(self, path: str) -> None:
        self.work, self._path = Matmul(), path

    def prepare(self) -> None:
        """Everything that need not be in a turn."""
        self.work.prepare()
        self.work.step()
        self.turns = Turns(self._path)

    def step(self) -> list[float]:
        """The steps of a turn, as a workload tells that times them itself."""
        with self.turns.turn():
            return [_timed(self.work.step) for _ in range(STEPS_IN_A_TURN)]


def _timed(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def _chain(matrix: tf.Tensor) -> tf.Tensor:
    product = matrix
    for _ in range(PRODUCTS):
        product = tf.matmul(product, matrix)
    return tf.reduce_sum(product)


def build(setting: object, turns: str | None = None) -> Matmul | MatmulInTurn:
    """The step as a workload of a user's own file."""
    return MatmulInTurn(turns) if turns else Matmul()


def _threads() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(int(os.environ["TF_NUM_INTRAOP_THREADS"]))
    tf.config.threading.set_inter_op_parallelism_threads(int(os.environ["TF_NUM_INTEROP_THREADS"]))


def _loop_in_turn(path: str) -> None:
    work = MatmulInTurn(path)
    work.prepare()
    steps = [seconds for _ in range(TURNS) for seconds in work.step()]
    print(median(steps[STEPS_IN_A_TURN:]))


def _pyperf() -> None:
    import pyperf

    runner = pyperf.Runner(program_args=("-m", "benchmarks.matmul", "pyperf"))
    work = Matmul()
    if runner.parse_args().worker:
        work.prepare()
        work.step()
    runner.bench_func("step", work.step)


def _pyperf_in_turn(path: str) -> None:
    import pyperf

    def value(loops: int) -> float:
        with work.turns.turn():
            start = pyperf.perf_counter()
            for _ in range(loops):
                work.work.step()
            return float(pyperf.perf_counter() - start)

    runner = pyperf.Runner(program_args=("-m", "benchmarks.matmul", "pyperf-in-turn", path))
    work = MatmulInTurn(path)
    if runner.parse_args().worker:
        work.prepare()
    runner.bench_time_func("step", value)


if __name__ == "__main__":
    method = sys.argv.pop(1)
    _threads()
    if method == "pyperf":
        _pyperf()
    elif method == "pyperf-in-turn":
        _pyperf_in_turn(sys.argv.pop(1))
    else:
        _loop_in_turn(sys.argv.pop(1))
