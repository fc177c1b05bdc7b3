import pytest

from benchmarks.shared.machines import machine, study
from scaling.analysis.traces import OpTime, Trace, TracedStep, traces_by_point
from scaling.study.planning import plan

OPS = (OpTime("Conv2D", 0.6, 3), OpTime("MatMul", 0.3, 2))


def test_ops_overhead_and_the_unexplained_rest_add_up_to_the_wall_time():
    step = TracedStep(wall_seconds=1.0, ops=OPS, overhead_seconds=0.06)
    assert step.op_seconds == pytest.approx(0.9)
    assert step.unexplained_seconds == pytest.approx(0.04)


def test_ops_that_ran_at_the_same_time_count_once():
    step = TracedStep(wall_seconds=1.0, ops=OPS, overhead_seconds=0.1, overlap_seconds=0.2)
    assert step.op_seconds == pytest.approx(0.7)
    assert step.op_seconds + step.overhead_seconds + step.unexplained_seconds == pytest.approx(1.0)


def test_launches_are_grouped_by_point_in_their_order():
    one, two = {run.point: run for run in plan(study("cores = [1, 2]"), machine(2)).runs}
    traces = [Trace(point, launch, 1, 1, 1, (), ()) for launch, point in ((1, one), (1, two), (2, one))]
    assert {point: [trace.launch for trace in group] for point, group in traces_by_point(traces).items()} == {
        one: [1, 2],
        two: [1],
    }
