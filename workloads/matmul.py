"""One large product of matrices: how many multiply-adds this machine can do, measured like any run.

The ceiling networks are held against, so it is carried out by the same kernels as theirs: the framework's product of
float32 matrices. An item is a GFLOP (half as many multiply-adds): items per second are GFLOP/s. Both modes are alike.
The result stays small and the matrices are longer than caches, so that neither new memory nor luck with caches counts.
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
    """A product of as many GFLOPs as there are items."""
    return Matmul(setting.item_count(DEFAULT_ITEMS[setting.size]), setting.seed)
