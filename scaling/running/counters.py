"""Instructions and cycles of a process and its descendants, from the counters of the processor.

Opened by perf_event_open(2), which needs no privileges up to `kernel.perf_event_paranoid` 2. Without a counter the
values are unknown. The kernel's own part is counted if permitted, otherwise user space alone. Imports nothing heavy:
the worker pays for it at every start.
"""

import ctypes
import os
import struct

# perf_event_open has no function in the C library, only a system call number on each architecture.
SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}

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


def hardware_counters() -> dict[str, Counter]:
    """Instructions and cycles of this thread and of all threads and processes that are started later."""
    return {name: Counter(event) for name, event in EVENTS.items()}


def _open(event: Event, excluded: int) -> int | None:
    number = SYSCALL.get(os.uname().machine)
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
