"""The first process of an emulated node: keeps slurmd as a child, starts it again on SIGUSR1, buries whoever dies."""

import os
import signal
import subprocess
import sys


def start(*_: object) -> None:
    subprocess.Popen(sys.argv[1:])


signal.signal(signal.SIGUSR1, start)
start()
while True:
    try:
        os.wait()
    except ChildProcessError:
        signal.pause()
