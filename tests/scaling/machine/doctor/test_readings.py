from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.doctor.readings import CpuInterrupts, CpuTicks, Moment, since_boot, span

counts = st.integers(0, 10**6)
ticks = st.builds(CpuTicks, st.integers(0, 3), counts, counts, counts)
moments = st.builds(
    Moment,
    uptime_seconds=st.none() | st.floats(0, 1e6),
    ticks=st.lists(ticks, max_size=4, unique_by=lambda cpu_ticks: cpu_ticks.cpu).map(tuple),
    interrupts=st.lists(
        st.builds(CpuInterrupts, st.integers(0, 3), counts), unique_by=lambda interrupts: interrupts.cpu
    ).map(tuple),
    swapped_pages=st.none() | counts,
    throttled_periods=st.none() | counts,
)


def test_a_span_is_the_rise_over_the_time():
    before = Moment(10.0, (CpuTicks(0, 100, 10, 1000),), (CpuInterrupts(0, 500),), 7, 1)
    after = Moment(12.0, (CpuTicks(0, 150, 30, 1200),), (CpuInterrupts(0, 700),), 27, 4)
    rise = span("just now", before, after)
    assert (rise.activity[0].busy, rise.activity[0].stolen) == (0.25, 0.1)
    assert rise.interrupts[0].per_second == 100
    assert (rise.swapped_pages_per_second, rise.throttled_periods) == (10, 3)


def test_since_boot_everything_rose_from_zero():
    rise = since_boot(Moment(10.0, (CpuTicks(4, 250, 0, 1000),), (CpuInterrupts(4, 50),), 20, 2))
    assert (rise.words, rise.activity[0].busy, rise.interrupts[0].per_second) == ("since boot", 0.25, 5)
    assert (rise.swapped_pages_per_second, rise.throttled_periods) == (2, 2)


def test_two_looks_at_the_same_moment_tell_nothing_of_rates():
    now = Moment(10.0, (CpuTicks(0, 1, 1, 10),), (CpuInterrupts(0, 5),), 7, 1)
    rise = span("just now", now, now)
    assert (rise.activity, rise.interrupts, rise.swapped_pages_per_second) == ((), (), None)


@given(moments, moments)
def test_whatever_was_counted_shares_are_shares_and_nothing_is_negative(before, after):
    rise = span("just now", before, after)
    assert all(0 <= share <= 1 for activity in rise.activity for share in (activity.busy, activity.stolen))
    assert all(interrupts.per_second >= 0 for interrupts in rise.interrupts)
    assert (rise.swapped_pages_per_second or 0) >= 0
    assert (rise.throttled_periods or 0) >= 0
    assert {activity.cpu for activity in rise.activity} <= {activity.cpu for activity in before.ticks} & {
        activity.cpu for activity in after.ticks
    }
