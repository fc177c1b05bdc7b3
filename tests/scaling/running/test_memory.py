import platform
import subprocess
import sys

import pytest

from scaling.machine.topology import Node
from scaling.running.memory import BIND, INTERLEAVE, SYSCALL, policy
from scaling.running.witness import memory_policy
from tests.conftest import need

NODES = (Node(0, (0, 1)), Node(8, (88, 89)), Node(250, ()))


@pytest.mark.parametrize(
    ("memory", "cpus", "chosen"),
    [
        ("local", {0}, (BIND, (0,))),
        ("local", {88}, (BIND, (8,))),
        ("local", {1, 88}, (BIND, (0, 8))),
        ("interleave", {0}, (INTERLEAVE, (0, 8))),
        ("none", {0}, None),
        ("local", {5}, None),
    ],
)
def test_memory_comes_from_the_nodes_of_the_run(memory, cpus, chosen):
    assert policy(memory, frozenset(cpus), NODES) == chosen


def test_with_one_node_there_is_nothing_to_choose():
    assert policy("local", frozenset({0}), NODES[:1]) is None


def test_a_policy_is_inherited_by_what_the_thread_starts():
    need(platform.machine() in SYSCALL and memory_policy() is not None, "a kernel with NUMA policies")
    show = "from scaling.running.witness import memory_policy; print(memory_policy())"
    code = (
        "import subprocess, sys\nfrom scaling.running.memory import BIND, apply_policy\n"
        f"print(apply_policy((BIND, (0,))), flush=True)\nsubprocess.run([sys.executable, '-c', {show!r}])"
    )
    words = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    need(words[0] == "True", "the right to set a memory policy")
    assert words == ["True", "bind:0"]


def test_a_node_that_is_not_there_is_refused_by_the_kernel():
    code = "from scaling.running.memory import BIND, apply_policy; print(apply_policy((BIND, (63,))))"
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "False"
