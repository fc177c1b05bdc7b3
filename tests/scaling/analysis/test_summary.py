from scaling.analysis.speedup import scaled
from scaling.analysis.summary import Launch, by_point, launch_seconds
from scaling.study.planning import plan
from tests.pretend import machine, study

POINTS = sorted({run.point for run in plan(study("cores = [2, 4]"), machine(4)).runs}, key=lambda point: point.cores)


def launches(*figures: float | None) -> list[Launch]:
    return [Launch(POINTS[0], seconds, 2, 1.0, None if seconds else "no") for seconds in figures]


def test_each_launch_counts_once():
    (summary,) = by_point(launches(1.0, 2.0, 9.0))
    assert (summary.seconds, summary.low, summary.high, summary.launches) == (2.0, 1.0, 9.0, 3)
    assert summary.items_per_second == 1.0


def test_failed_launches_are_counted_with_their_reasons():
    (summary,) = by_point(launches(1.0, None, None))
    assert (summary.launches, summary.failed, summary.reasons) == (1, 2, ("no",))


def test_a_point_that_never_ran_has_no_figure():
    (summary,) = by_point(launches(None))
    assert (summary.seconds, summary.items_per_second) == (None, None)


def test_no_steady_step_is_no_figure():
    assert launch_seconds((), 0) is None


def test_speedup_is_against_one_core_and_is_not_clipped():
    points = scaled(by_point([Launch(p, s, 1, 1.0) for p, s in zip(POINTS, (1.0, 0.4, 0.5), strict=True)]))
    assert [(each.speedup, each.efficiency) for each in points] == [(1.0, 1.0), (2.5, 1.25), (2.0, 0.5)]


def test_without_a_baseline_there_is_no_speedup():
    (point,) = scaled(by_point([Launch(POINTS[1], 1.0, 1, 1.0)]))
    assert (point.speedup, point.efficiency) == (None, None)


def test_weak_scaling_counts_the_items_that_grew():
    weak = sorted(
        {run.point for run in plan(study('scale = "weak"\ncores = [4]'), machine(4)).runs}, key=lambda p: p.cores
    )
    points = scaled(by_point([Launch(weak[0], 1.0, 1, 1.0), Launch(weak[1], 1.25, 4, 1.0)]))
    assert [each.efficiency for each in points] == [1.0, 0.8]
