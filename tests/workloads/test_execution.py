import os
import re
import resource

import pytest

from scaling.workloads.command import number
from scaling.workloads.execution import BLOCK_BYTES, LONGEST_LINE, Invocation, Output, execute


def printed(*blocks: bytes, **patterns: str) -> Output:
    """What an output reads that is printed in blocks."""
    output = Output({name: re.compile(text.encode()) for name, text in patterns.items()}, lambda _, text: number(text))
    for block in blocks:
        read_end, write_end = os.pipe()
        os.write(write_end, block)
        assert output.read(read_end)
        for fd in (read_end, write_end):
            os.close(fd)
    end, closed = os.pipe()
    os.close(closed)
    output.drain(end)
    os.close(end)
    return output


def executed(*argv: str, output: Output | None = None, cpus: tuple[int, ...] = ()):
    return execute(Invocation(argv, dict(os.environ), None, None, False), output, cpus)


def empty_output() -> Output:
    return Output({}, lambda _, text: number(text))


@pytest.mark.parametrize(
    "blocks",
    [
        (b"step_seconds: 0.25\n",),
        (b"begun\nstep_sec", b"onds: 0.", b"25\nmore\n"),
        (b"x\n" * 1000, b"step_seconds: 0.25"),
        (b"x" * LONGEST_LINE, b"\nstep_seconds: 0.25\n"),
    ],
    ids=["whole", "in pieces", "last line", "after a long line"],
)
def test_a_marker_is_found_wherever_blocks_end(blocks):
    assert printed(*blocks).marked == [0.25]


def test_a_marker_within_a_line_is_none():
    assert printed(b"see step_seconds: 0.25 there\n").marked == []


@pytest.mark.parametrize("pattern", [r"^rate ([\d.]+)$", r"\Arate ([\d.]+)", r"rate ([\d.]+)\s*\Z", r"rate ([\d.]+)"])
def test_patterns_are_matched_line_by_line(pattern):
    assert printed(b"begin\nrate 1.5\nrat", b"e 2.5\nend\n", rate=pattern).matches == {"rate": [1.5, 2.5]}


def test_a_line_without_end_is_not_kept():
    output = empty_output()
    read_end, write_end = os.pipe()
    for _ in range(8):
        os.write(write_end, b"x" * (LONGEST_LINE // 2))
        output.read(read_end)
        assert len(output._begun) <= LONGEST_LINE
    for fd in (read_end, write_end):
        os.close(fd)


def test_only_the_end_of_an_output_is_kept():
    output = printed(b"begin" + b"x" * 5000, b"end\n")
    assert len(output.tail) == 4096
    assert output.tail.endswith(b"xend\n")
    assert output.bytes == 5009


@pytest.mark.parametrize("reads", [True, False])
def test_an_output_larger_than_a_pipe_ends_the_program_all_the_same(reads):
    output = empty_output() if reads else None
    assert executed("head", "-c", str(4 * BLOCK_BYTES), "/dev/zero", output=output).code == 0
    assert output is None or output.bytes == 4 * BLOCK_BYTES


def test_a_discarded_output_does_not_look_like_dev_null():
    line = "test ! /dev/stdout -ef /dev/null && test ! -t 1"
    assert executed("sh", "-c", line).code == 0


def test_the_end_of_a_program_is_its_exit_whoever_holds_its_output():
    output = empty_output()
    ended = executed("sh", "-c", "echo early; sleep 600 & echo $!", output=output)
    _, pid = output.tail.split()
    os.kill(int(pid), 9)
    assert ended.code == 0
    assert output.holders == [f"process {int(pid)} (sleep)"]


def test_what_a_program_prints_last_is_read_after_its_exit():
    output = empty_output()
    executed("sh", "-c", "(echo step_seconds: 0.5; echo step_seconds: 0.25) & exit 0", output=output)
    assert output.marked == [0.5, 0.25]


def test_the_peak_memory_of_a_program_is_its_own():
    more_than_ours = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + (32 << 20)
    large = executed("python3", "-c", f"x = bytearray({more_than_ours})")
    assert large.peak_bytes > more_than_ours
    small = executed("sleep", "0.2", cpus=tuple(os.sched_getaffinity(0)))
    assert 0 < small.peak_bytes < 6 << 20
    assert executed("true").peak_bytes is None


def test_the_thread_of_the_reader_comes_back_to_its_cpus():
    before = os.sched_getaffinity(0)
    executed("true", cpus=(max(before),))
    assert os.sched_getaffinity(0) == before
