"""One large matrix product: the ceiling of arithmetic, measured like any run.

Networks are compared with it, so it uses their kernels: the framework's product of float32 matrices. An item is a
GFLOP, half a billion multiply-adds, so items per second are GFLOP/s. Both modes are the same. The result is small and
the matrices exceed the caches, so neither new memory nor cached data matters.
"""

import keras
import numpy as np

from scaling.workloads import kernels
from scaling.workloads.base import Setting

SIDE = 2000
DEFAULT_ITEMS = {"published": 64, "small": 8}


class Matmul:
    """A product of two matrices, SIDE × inner and inner × SIDE."""

    def __init__(self, items: int, seed: int) -> None:
        self.items_per_step = items
        self.inner = items * 10**9 // (2 * SIDE * SIDE)
        self.seed = seed

    def prepare(self) -> None:
        """Make both matrices."""
        chance = np.random.default_rng(self.seed)
        shapes = ((SIDE, self.inner), (self.inner, SIDE))
        self.left, self.right = (keras.ops.convert_to_tensor(chance.random(shape, np.float32)) for shape in shapes)

    def step(self) -> None:
        """One product."""
        kernels.wait_for(keras.ops.matmul(self.left, self.right))


def build(setting: Setting) -> Matmul:
    """A product with one GFLOP per item."""
    return Matmul(setting.item_count(DEFAULT_ITEMS[setting.size]), setting.seed)
