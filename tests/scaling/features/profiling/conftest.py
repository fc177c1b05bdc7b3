from pathlib import Path

import pytest

from scaling.features.profiling.evaluation import evaluate_ops
from scaling.reporting.plots.drawing import draw_kinds
from scaling.results.compressed import open_part
from tests.traced import CONVOLUTIONAL, amdahl_traces

FORWARD = {name: CONVOLUTIONAL[name] for name in ("Conv2D", "_FusedMatMul")}
DENSE = {"MatMul": (50.0, 0.1, 3), "Tanh": (5.0, 0.0, 3), "NextIteration": (1.0, 1.0, 9)}


@pytest.fixture(scope="module")
def op_evaluation():
    return evaluate_ops(
        [
            *amdahl_traces(noise=0.002),
            *amdahl_traces(FORWARD, threads=(1,), mode="infer"),
            *amdahl_traces(DENSE, workload="speech", noise=0.002),
        ]
    )


@pytest.fixture(scope="module")
def op_drawings(op_evaluation):
    return {drawing.kind: drawing for drawing in draw_kinds("traces", op_evaluation, None)}


@pytest.fixture(scope="session")
def two_networks(tmp_path_factory):
    """The stored profiles of two networks of those in an example."""
    stored = Path(__file__).parents[4] / "docs" / "examples" / "profiles-small" / "traces.jsonl.xz"
    folder = tmp_path_factory.mktemp("profiles")
    with open_part(stored) as lines:
        few = [line for line in lines if b'"workload":"vgg"' in line or b'"workload":"residual"' in line]
    (folder / "traces.jsonl").write_bytes(b"".join(few))
    return folder
