"""System calls that have no function in the C library, only a number on each architecture.

perf_event_open(2) counts the instructions and cycles of a process and its descendants, which needs no privileges up to
`kernel.perf_event_paranoid` 2. Without a counter the values are unknown. The kernel's own part is counted if permitted,
otherwise user space alone. set_mempolicy(2) sets the memory policy of a run in the thread that starts it, which the run
inherits. Imports nothing heavy: the worker pays for it at every start.
"""

import ctypes
import os
import struct
from collections.abc import Sequence

from scaling.machine.topology import CpuSet, Node

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}

# struct perf_event_attr in its first version from <linux/perf_event.h>: type, size, config, period, sample type, read
# format, flags, wake-up, breakpoint type and address.
ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
TIME_ENABLED, TIME_RUNNING = 1, 2
CLOSE_ON_EXEC = 8
READING = struct.Struct("=QQQ")

THIS_THREAD, ANY_CPU, NO_GROUP = 0, -1, -1

# It exists on machines with two types of cores, where a generic event counts on one of them only.
SECOND_CORE_TYPE = "/sys/bus/event_source/devices/cpu_atom"

Event = tuple[int, int]  # its type and configuration, by the kernel's numbers
EVENTS: dict[str, Event] = {"instructions": (0, 1), "cycles": (0, 0)}

BIND, INTERLEAVE = 2, 3  # from <linux/mempolicy.h>
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "s390x": 270}

Policy = tuple[int, tuple[int, ...]]


class Counter:
    """An event, counted in this thread and in all threads and processes that are started later."""

    def __init__(self, event: Event) -> None:
        self._fd = _open(event, 0)
        if self._fd is None:
            self._fd = _open(event, EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR)

    def read(self) -> int | None:
        """The number of events so far, scaled up if events share a counter; None if they cannot be counted."""
        if self._fd is None:
            return None
        try:
            count, enabled, running = READING.unpack(os.read(self._fd, READING.size))
        except (OSError, struct.error):
            return None
        return count * enabled // running if running else None

    def close(self) -> None:
        """Stop counting: a process that makes many runs would run out of descriptors."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def hardware_counters() -> dict[str, Counter]:
    """Instructions and cycles of this thread and of all threads and processes that are started later."""
    return {name: Counter(event) for name, event in EVENTS.items()}


def _open(event: Event, excluded: int) -> int | None:
    number = PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None or os.path.exists(SECOND_CORE_TYPE):
        return None
    times, flags = TIME_ENABLED | TIME_RUNNING, INHERIT | excluded
    event_type, config = event
    attributes = ATTRIBUTES.pack(event_type, ATTRIBUTES.size, config, 0, 0, times, flags, 0, 0, 0)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.syscall(number, attributes, THIS_THREAD, ANY_CPU, NO_GROUP, ctypes.c_ulong(CLOSE_ON_EXEC))
    except (OSError, AttributeError):
        return None
    return fd if fd >= 0 else None


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
    number = SET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        return False
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (max(nodes) // bits + 1))()
    for node in nodes:
        mask[node // bits] |= 1 << node % bits
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel counts one bit more than it reads.
    return bool(libc.syscall(number, mode, mask, ctypes.c_ulong(len(mask) * bits + 1)) == 0)
