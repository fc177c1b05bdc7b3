"""The memory policy of a run: set in the thread that starts the run, which inherits it."""

import ctypes
import platform
from collections.abc import Sequence

from scaling.machine.cpulist import CpuSet
from scaling.machine.topology import Node

BIND, INTERLEAVE = 2, 3  # from <linux/mempolicy.h>

# set_mempolicy has no function in the C library, only a system call number on each architecture.
SYSCALL = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "s390x": 270}

Policy = tuple[int, tuple[int, ...]]


def policy(memory: str, cpus: CpuSet, nodes: Sequence[Node]) -> Policy | None:
    """The kernel's policy for a study's `memory` on these CPUs; None if there is nothing to choose."""
    populated = [node for node in nodes if node.cpus]
    if memory == "none" or len(populated) < 2:
        return None
    if memory == "interleave":
        return INTERLEAVE, tuple(node.number for node in populated)
    own = tuple(node.number for node in populated if cpus.intersection(node.cpus))
    return (BIND, own) if own else None


def apply_policy(chosen: Policy) -> bool:
    """Set a policy for this thread and its children; returns False if it is refused: rows record the actual policy."""
    mode, nodes = chosen
    number = SYSCALL.get(platform.machine())
    if number is None:
        return False
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (max(nodes) // bits + 1))()
    for node in nodes:
        mask[node // bits] |= 1 << node % bits
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel counts one bit more than it reads.
    return bool(libc.syscall(number, mode, mask, ctypes.c_ulong(len(mask) * bits + 1)) == 0)
