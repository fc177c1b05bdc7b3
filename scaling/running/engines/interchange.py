"""Starts Parsl's interchange so that it dies with the driver, however that dies.

The interchange is the process that nodes are connected to. Left to itself it outlives a driver that is killed, and the
pilots go on holding their nodes until their time limit (Parsl's issue 3663). The kernel kills it instead, and pilots
that receive nothing more end by themselves.
"""

import ctypes
import os
import resource
import runpy
import signal
import sys

SET_PARENT_DEATH_SIGNAL = 1  # from <linux/prctl.h>


def command() -> list[str]:
    """How the interchange is started by this process."""
    code = "from scaling.running.engines.interchange import main; main()"
    return [sys.executable, "-P", "-c", code, str(os.getpid())]


def main() -> None:
    """Be the interchange, unless the driver has died already."""
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one connection per pilot, and the usual limit is 1024
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's, which ends us in its own time
    runpy.run_module("parsl.executors.high_throughput.interchange", run_name="__main__")
