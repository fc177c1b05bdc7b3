import random
from dataclasses import replace
from math import inf, sqrt

import pytest

from scaling.analysis.rules import Verdict
from scaling.analysis.traces import OpTime, Trace, TracedStep
from scaling.features.profiling.profile import (
    MOST_LAUNCHES,
    OVERHEAD,
    UNEXPLAINED,
    irreproducible,
    profile,
    profiles,
    quiet_steps,
    step_parts,
)
from tests.traced import amdahl_traces, step, trace


def test_names_that_mean_the_same_op_are_summed():
    made = profile([trace(step({"AddV2": (0.1, 3), "BiasAdd": (0.2, 4), "AddN": (0.3, 1), "MatMul": (0.4, 2)}))])
    assert [(op.type, op.executions) for op in made.ops] == [("Add", 8), ("MatMul", 2)]
    assert [op.seconds for op in made.ops] == pytest.approx([0.6, 0.4])
    assert made.share("Add") == pytest.approx(0.6)


def test_an_op_without_a_class_is_reported_as_other():
    made = profile([trace(step({"NextIteration": 0.1, "Mul": 0.2, "Sub": 0.1}))])
    assert made.class_share("other") == pytest.approx(0.25)
    assert made.class_share("elementwise") == pytest.approx(0.75)
    assert sum(made.class_shares.values()) == pytest.approx(1.0)


def test_op_time_overhead_and_the_unexplained_add_up_to_the_wall_time():
    one = step({"MatMul": 0.7, "AddV2": 0.1}, overhead=0.15, unexplained=0.05)
    parts = step_parts(one)
    assert parts[OVERHEAD] == pytest.approx(0.15)
    assert parts[UNEXPLAINED] == pytest.approx(0.05)
    made = profile([trace(one, one)])
    assert made.op_seconds + made.overhead_seconds + made.unexplained_seconds == pytest.approx(made.wall_seconds)
    assert made.wall_seconds == pytest.approx(1.0)
    assert made.stretch == pytest.approx(1.05)
    assert made.share("MatMul") == pytest.approx(0.7 / 0.8)


def test_the_time_that_ops_overlap_is_given():
    made = profile([trace(TracedStep(1.0, (OpTime("MatMul", 0.9, 1), OpTime("Mul", 0.5, 1)), 0.1, 0.5))])
    assert (made.op_seconds, made.overlap_seconds, made.wall_seconds) == pytest.approx((1.4, 0.5, 1.0))
    assert made.unexplained_seconds == pytest.approx(0.0)
    assert made.busy_seconds == pytest.approx(0.9)


def test_a_disturbed_step_says_nothing():
    steps = [step({"MatMul": seconds}) for seconds in (1.0, 1.0, 1.0, 9.0)]
    assert len(quiet_steps(trace(*steps))) == 2
    assert profile([trace(*steps)]).op_seconds == pytest.approx(1.0)


def test_launches_of_a_point_are_averaged_and_an_op_one_of_them_lacks_is_nothing_there():
    made = profile([trace(step({"MatMul": 1.0, "Mul": 0.2})), trace(step({"MatMul": 3.0}), launch=2)])
    assert {op.type: op.seconds for op in made.ops} == pytest.approx({"MatMul": 2.0, "Mul": 0.1})
    assert made.launches == 2


def test_a_share_tells_how_far_launches_lie_apart():
    made = profile([trace(step({"MatMul": 0.9, "Mul": 0.1})), trace(step({"MatMul": 2.1, "Mul": 0.9}), launch=2)])
    matmul, mul = made.ops
    assert (matmul.share, matmul.least, matmul.most) == pytest.approx((0.75, 0.7, 0.9))
    assert (mul.least, mul.most, mul.share_uncertainty) == pytest.approx((0.1, 0.3, 0.2))
    assert profile([trace(step({"MatMul": 0.9}))]).ops[0].share_uncertainty == 0


def test_three_launches_tell_how_far_a_profile_made_again_may_lie():
    shares = (0.70, 0.72, 0.74)
    launches = [trace(step({"MatMul": share, "Mul": 1 - share}), launch=n) for n, share in enumerate(shares, 1)]
    assert profile(launches[:2]).reproducibility is None
    made = profile(launches)
    assert made.reproducibility == pytest.approx(4.3027 * sqrt(2 / 3) * 0.02, rel=1e-4)
    assert [op.reproducibility for op in made.ops] == pytest.approx([made.reproducibility] * 2)
    assert made.ops[0].share_uncertainty == made.reproducibility


def test_profiles_of_a_subject_come_with_threads_ascending():
    made = profiles([*reversed(amdahl_traces(launches=1)), *amdahl_traces(launches=1, mode="infer")])
    assert [(one.point.mode, one.threads) for one in made] == [
        *(("train", threads) for threads in (1, 2, 4)),
        *(("infer", threads) for threads in (1, 2, 4)),
    ]
    assert len({one.subject for one in made}) == 2


def test_a_trace_without_steps_makes_no_profile():
    assert profiles([trace()]) == []


def launches(shares, **fields) -> list[Trace]:
    """Launches in which an op has these shares."""
    first = trace(step({"MatMul": 1.0}), **fields)
    steps = [(step({"MatMul": share, "Mul": 1 - share}),) for share in shares]
    return [replace(first, launch=number, steps=traced) for number, traced in enumerate(steps, 1)]


def test_only_points_whose_launches_differ_are_irreproducible():
    restless, calm = launches((0.6, 0.7, 0.65, 0.65), threads=2), launches((0.6, 0.601, 0.602, 0.601))
    (point_and_range,) = irreproducible([*restless, *calm], 0.02).items()
    assert point_and_range == (restless[0].point, pytest.approx(0.1757, abs=1e-4))


def test_three_launches_are_needed_and_a_fourth_must_agree():
    for count in (1, 2, 3):
        assert list(irreproducible(launches((0.6,) * count), 0.5).values()) == [inf]
    assert irreproducible(launches((0.6,) * 4), 0.001) == {}
    (lucky,) = irreproducible(launches((0.55, 0.65, 0.60, 0.60)), 0.15).values()
    assert profile(launches((0.55, 0.65, 0.60, 0.60))).reproducibility < 0.15 < lucky


def traced_until_sure(chance: random.Random, spread: float, within: float) -> list[Trace]:
    made = launches([chance.gauss(0.5, spread) for _ in range(MOST_LAUNCHES)])
    return next((made[:n] for n in range(4, MOST_LAUNCHES) if not irreproducible(made[:n], within)), made)


@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_two_profiles_traced_until_sure_differ_by_less_than_asked_for(spread):
    chance = random.Random(f"until sure {spread}")
    beyond = 0
    for _ in range(100):
        one, other = (profile(traced_until_sure(chance, spread, 0.02)) for _ in range(2))
        beyond += abs(one.share("MatMul") - other.share("MatMul")) >= 0.02
    assert beyond <= 0.06 * 100


@pytest.mark.parametrize(
    ("quiet", "verdict"),
    [
        ([True] * 3, Verdict.OK),
        ([True, True, True, False], Verdict.OK),
        ([True, True, False], Verdict.DISTURBED),
        ([False], Verdict.DISTURBED),
        ([True], Verdict.IMPRECISE),
    ],
)
def test_a_profile_has_a_verdict_by_its_quiet_launches(quiet, verdict):
    launches = [replace(trace(step({"MatMul": 1.0}), launch=number), quiet=one) for number, one in enumerate(quiet, 1)]
    made = profile(launches)
    assert (made.launches, made.quiet, made.verdict) == (len(quiet), sum(quiet), verdict)
