import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.doctor.readings import CpuTicks, Moment, since_boot, span

counts = st.integers(0, 10**6)
cpus = st.integers(0, 3)
moments = st.builds(
    Moment,
    uptime_seconds=st.none() | st.floats(0, 1e6),
    ticks=st.dictionaries(cpus, st.builds(CpuTicks, counts, counts, counts), max_size=4),
    interrupts=st.dictionaries(cpus, counts, max_size=4),
    swapped_pages=st.none() | counts,
    throttled_periods=st.none() | counts,
)


def test_a_span_is_the_rise_over_the_time():
    before = Moment(10.0, {0: CpuTicks(100, 10, 1000)}, {0: 500}, 7, 1)
    after = Moment(12.0, {0: CpuTicks(150, 30, 1200)}, {0: 700}, 27, 4)
    rise = span("just now", before, after)
    assert (rise.activity[0].busy, rise.activity[0].stolen) == (0.25, 0.1)
    assert rise.interrupts == {0: 100}
    assert (rise.swapped_pages_per_second, rise.throttled_periods) == (10, 3)


@pytest.mark.parametrize(("before", "after", "both"), [(3, 1, 1), (1, 3, 1), (None, 3, None)])
def test_other_tasks_are_those_that_ran_at_both_moments(before, after, both):
    assert span("just now", Moment(other_tasks=before), Moment(other_tasks=after)).other_tasks == both


def test_since_boot_everything_rose_from_zero():
    rise = since_boot(Moment(10.0, {4: CpuTicks(250, 0, 1000)}, {4: 50}, 20, 2))
    assert (rise.words, rise.activity[0].busy, rise.interrupts) == ("since boot", 0.25, {4: 5})
    assert (rise.swapped_pages_per_second, rise.throttled_periods) == (2, 2)


def test_two_readings_of_the_same_moment_give_no_rates():
    now = Moment(10.0, {0: CpuTicks(1, 1, 10)}, {0: 5}, 7, 1)
    rise = span("just now", now, now)
    assert (rise.activity, rise.interrupts, rise.swapped_pages_per_second) == ((), {}, None)


@given(moments, moments)
def test_whatever_was_counted_shares_are_shares_and_nothing_is_negative(before, after):
    rise = span("just now", before, after)
    assert all(0 <= share <= 1 for activity in rise.activity for share in (activity.busy, activity.stolen))
    assert all(rate >= 0 for rate in rise.interrupts.values())
    assert {activity.cpu for activity in rise.activity} <= before.ticks.keys() & after.ticks.keys()


@pytest.mark.parametrize(
    ("before", "after", "risen"),
    [(7, 27, 20), (7, 7, 0), (7, 6, None), (None, 7, None), (7, None, None), (None, None, None)],
    ids=["rose", "stayed", "was reset", "was missing", "went missing", "never there"],
)
def test_a_counter_that_is_missing_or_was_reset_is_unknown_and_not_zero(before, after, risen):
    rise = span("just now", Moment(10.0, {}, {}, before, before), Moment(12.0, {}, {}, after, after))
    per_second = None if risen is None else risen / 2
    assert (rise.swapped_pages_per_second, rise.throttled_periods) == (per_second, risen)
