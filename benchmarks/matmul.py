"""A TensorFlow step of a few matrix products, for ours, for pyperf and for a plain loop.

python -m benchmarks.matmul loop SECONDS        prints the median step of a plain loop
python -m benchmarks.matmul pyperf [options]    lets pyperf time it
"""

import os
import sys
import time
from statistics import median

import tensorflow as tf

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


def _chain(matrix: tf.Tensor) -> tf.Tensor:
    product = matrix
    for _ in range(PRODUCTS):
        product = tf.matmul(product, matrix)
    return tf.reduce_sum(product)


def build(setting: object) -> Matmul:
    """The step as a workload of a user's own file."""
    return Matmul()


def _threads() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(int(os.environ["TF_NUM_INTRAOP_THREADS"]))
    tf.config.threading.set_inter_op_parallelism_threads(int(os.environ["TF_NUM_INTEROP_THREADS"]))


def _loop(seconds: float) -> None:
    work = Matmul()
    work.prepare()
    steps, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        work.step()
        steps.append(time.perf_counter() - start)
    print(median(steps[len(steps) // 4 :]))


def _pyperf() -> None:
    import pyperf

    runner = pyperf.Runner(program_args=("-m", "benchmarks.matmul", "pyperf"))
    work = Matmul()
    if runner.parse_args().worker:
        work.prepare()
        work.step()
    runner.bench_func("step", work.step)


if __name__ == "__main__":
    kind = sys.argv.pop(1)
    _threads()
    if kind == "loop":
        _loop(float(sys.argv[1]))
    else:
        _pyperf()
