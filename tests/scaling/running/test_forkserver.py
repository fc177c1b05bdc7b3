import os
import subprocess
import sys

import pytest

from scaling.running import forkserver
from tests.conftest import need

# As in a server and its child: loaded on one CPU, used on two.
LOADED_ON_ONE = """
import os
os.sched_setaffinity(0, {0})
import numpy
from scaling.running import forkserver
if os.fork() == 0:
    os.sched_setaffinity(0, {0, 1})
    forkserver.fit_blas_threads()
    numpy.ones((300, 300)) @ numpy.ones((300, 300))
    print(len(os.listdir("/proc/self/task")))
"""
LOADED_ON_TWO = """
import os
os.sched_setaffinity(0, {0, 1})
import numpy
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.parametrize("variables", [{}, {"OPENBLAS_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "1"}])
def test_a_child_has_the_matrix_threads_of_a_fresh_import(variables):
    need({0, 1} <= os.sched_getaffinity(0), "CPUs 0 and 1")
    environment = {"PATH": os.environ["PATH"], **variables}

    def threads(code: str) -> str:
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert threads(LOADED_ON_ONE) == threads(LOADED_ON_TWO)


def test_a_server_with_a_file_of_a_gpu_open_refuses_to_fork(monkeypatch):
    monkeypatch.setattr(forkserver, "RUNTIMES", {"CUDA": forkserver.RUNTIMES["CUDA"]})
    monkeypatch.setattr(forkserver, "_other_threads", set)
    assert forkserver.objection() is None
    monkeypatch.setattr(forkserver.os, "readlink", lambda link: "/dev/nvidiactl")
    assert forkserver.objection() == "CUDA's runtime has already started in it, so a forked child would hang"


def test_a_thread_whose_name_is_cut_within_a_character_is_counted(cut_name, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 0)
    assert "abcdefghijklmn\N{REPLACEMENT CHARACTER}" in forkserver._other_threads()
