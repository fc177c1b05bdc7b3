"""TensorFlow's own tracing of a compiled step, from its very first call. In the child only.

The executor learns from every untraced execution how cheap an op is, and its tracer leaves cheap ops out. Therefore
tracing begins before the first call, and untraced steps come later.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from scaling.analysis.traces import TracedStep
from scaling.running.frameworks.spans import Span, Spans, op_key, traced_steps

MARKER = "step"
HOST = "/host:CPU"

# Reading a file of events takes several times its size in memory; a file of this size is read in seconds.
LARGEST_FILE_BYTES = 64 * 2**20


def trace(step: Callable[[], None], function: str, steps: int) -> tuple[float, list[TracedStep]]:
    """Seconds of the first call, which builds the step, and the traced steps without the first and the last."""
    with _Session() as session:
        start = time.perf_counter()
        step()
        first = time.perf_counter() - start
    traced: list[TracedStep] = []
    for count in sessions(steps, len(session.recorded)):
        with _Session() as session:
            for number in range(count):
                with tf.profiler.experimental.Trace(MARKER, step_num=number, _r=1):
                    step()
        traced += traced_steps(session.spans(function))
    if len(traced) != steps:
        raise RuntimeError(f"{steps} steps were traced, but the trace shows {len(traced)}")
    return first, traced[1:-1]


def sessions(steps: int, bytes_per_step: int) -> Iterator[int]:
    """The number of steps for each trace file; no step is taken between two files, so the executor learns nothing."""
    most = max(1, LARGEST_FILE_BYTES // max(1, bytes_per_step))
    while steps > 0:
        yield min(most, steps)
        steps -= most


class _Session:
    """One stretch of tracing, whose records move from the disk into memory when it ends."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
        self.recorded = b""

    def __enter__(self) -> "_Session":
        tf.profiler.experimental.start(self._folder.name)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            tf.profiler.experimental.stop()
            self.recorded = b"".join(path.read_bytes() for path in Path(self._folder.name).rglob("*.xplane.pb"))
        finally:
            self._folder.cleanup()

    def spans(self, function: str) -> Spans:
        """The recorded steps, calls and ops."""
        space = xplane_pb2.XSpace.FromString(self.recorded)
        spans = Spans([], [], [])
        for plane in space.planes:
            if plane.name == HOST:
                _sort_events(plane, {MARKER: spans.steps, function: spans.calls}, spans.ops)
        return spans


def _sort_events(plane: xplane_pb2.XPlane, named: dict[str, list[Span]], ops: list[Span]) -> None:
    """Sort the events of a plane into named lists, and ops under their types and purposes."""
    names = {number: metadata.name for number, metadata in plane.event_metadata.items()}
    keys = {number: op_key(name) for number, name in names.items()}
    for thread, line in enumerate(plane.lines):
        begun = line.timestamp_ns * 1000
        for event in line.events:
            key = keys[event.metadata_id]
            name, purpose = key or (names[event.metadata_id], None)
            spans = ops if key else named.get(name)
            if spans is not None:
                start = begun + event.offset_ps
                spans.append(Span(start, start + event.duration_ps, thread, name, purpose))
