"""Workloads that go wrong, each in a way of its own, and a few that do not."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread


class Steps:
    items_per_step = 1

    def __init__(self, step=lambda: None):
        self._step = step

    def prepare(self):
        pass

    def step(self):
        self._step()


def brief(setting):
    """A step of a fraction of a millisecond."""
    return Steps(lambda: sum(range(2000)))


def hangs_and_talks(setting, says):
    """Hangs in its first step, and says without end that it is ready, that it has taken a turn, or anything else."""
    from scaling.running import messages

    lines = {"ready": messages.RunReady(), "turn": messages.TurnDone(7, True)}
    fd, line = (reply_fd(), f"{messages.encode(lines[says])}\n") if says in lines else (1, "y" * 60_000)

    def talk():
        while True:
            os.write(fd, line.encode())

    def hang():
        Thread(target=talk, daemon=True).start()
        signal.pause()

    return Steps(hang)


def times_its_own(setting):
    """Every call takes four steps and says how long each took."""
    workload = brief(setting)
    workload.step = lambda: [0.001] * 4
    return workload


def states_a_truth(setting, serial_fraction):
    workload = brief(setting)
    workload.truth = {"serial_fraction": serial_fraction, "overhead_seconds": 0.0}
    return workload


def spins_beside(setting):
    """Keeps a thread busy that nobody waits for, as pools that spin do."""
    Thread(target=lambda: all(True for _ in iter(int, 1)), daemon=True).start()
    return brief(setting)


def dies_later(setting, cores, steps):
    """Goes well for so many steps, and on so many cores it is then killed."""
    left = iter(range(steps))

    def step():
        if setting.cores == cores and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        sum(range(200_000))

    return Steps(step)


def leaves_with(setting, status):
    return Steps(lambda: os._exit(status))


def leaves_politely(setting):
    return Steps(lambda: sys.exit("enough"))


def raises(setting):
    return Steps(lambda: 1 / 0)


def segfaults(setting):
    return Steps(lambda: ctypes.string_at(0))


def signals_itself(setting, number):
    return Steps(lambda: os.kill(os.getpid(), number))


def hangs(setting):
    return Steps(lambda: signal.pause())


def hangs_deaf(setting):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return Steps(lambda: time.sleep(3600))


def floods(setting, megabytes):
    line = b"x" * (1 << 20)
    for _ in range(megabytes):
        os.write(1, line)
    os.write(2, b"the last words\n")
    return brief(setting)


def floods_and_fails(setting, megabytes):
    floods(setting, megabytes)
    os._exit(4)


def forks_a_daemon(setting, pids):
    """Leaves the session, the group and the parent, holds every pipe open, and would live for an hour."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(pids, "daemon").write_text(str(os.getpid()))
            time.sleep(3600)
        os._exit(0)
    while not Path(pids, "daemon").exists():
        time.sleep(0.001)
    return brief(setting)


def reply_fd():
    """The first pipe beside stdout and stderr; the other is what turns are requested through."""
    return next(fd for fd in range(3, 64) if Path(f"/proc/self/fd/{fd}").is_fifo())


def answers_half(setting):
    os.write(reply_fd(), b'{"status": "ok", "step_sec')
    os._exit(0)


def answers_rubbish(setting):
    os.write(reply_fd(), b"\xff\x00<html>")
    os._exit(0)


def counts_no_items(setting):
    workload = brief(setting)
    workload.items_per_step = None
    return workload


def loses_text(setting):
    workload = brief(setting)
    workload.losses = ["high"]
    return workload


def raises_bytes(setting):
    """An error whose message has a byte that is no UTF-8, a control character, and no end."""
    raise OSError(os.fsdecode(b"/tmp/\xff\x1b[2J") + "x" * 100_000)


def notes(setting, path):
    """Leaves a line about the process it is in, and about what chance has given it."""
    text = f"{os.getpid()} {hash('scaling')} {chance()} {len(os.environ['SCALING_PADDING'])}\n"
    with Path(path).open("a") as file:
        file.write(text)
    return brief(setting)


def chance():
    return sys.modules["numpy"].random.random() if "numpy" in sys.modules else None


def eats_memory(setting, group):
    """Joins a control group with little memory, and takes more."""
    Path(group, "cgroup.procs").write_text(str(os.getpid()))
    return Steps(lambda: bytearray(os.urandom(1 << 20) * 1000))


def unpins_itself(setting):
    return Steps(lambda: os.sched_setaffinity(0, range(os.cpu_count())))


def not_a_workload(setting):
    return 42


def one_dies(setting, folder, steps=4):
    """Of the processes that are started together, one is killed after so many steps: the first to leave its mark."""
    try:
        Path(folder, "dying").touch(exist_ok=False)
    except FileExistsError:
        return brief(setting)
    left = iter(range(steps))

    def step():
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        sum(range(2000))

    return Steps(step)


def one_eats_memory(setting, folder, group):
    """The same for want of memory."""
    try:
        Path(folder, "failing").touch(exist_ok=False)
    except FileExistsError:
        return brief(setting)
    return eats_memory(setting, group)


def tells_and_hangs(setting, fifo):
    """Says which process it is, and stays."""
    Path(fifo).write_text(f"{os.getpid()}\n")
    return Steps(signal.pause)
