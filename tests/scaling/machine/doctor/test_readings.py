from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.doctor.readings import CpuInterrupts, CpuTicks, Moment, since_boot, span

counts = st.integers(0, 10**6)
ticks = st.builds(CpuTicks, st.integers(0, 3), counts, counts, counts)
moments = st.builds(
    Moment,
    uptime_seconds=st.none() | st.floats(0, 1e6),
    ticks=st.lists(ticks, max_size=4, unique_by=lambda each: each.cpu).map(tuple),
    interrupts=st.lists(st.builds(CpuInterrupts, st.integers(0, 3), counts), unique_by=lambda each: each.cpu).map(
        tuple
    ),
    swapped_pages=st.none() | counts,
    throttled_periods=st.none() | counts,
)


def test_a_span_is_the_rise_over_the_time():
    before = Moment(10.0, (CpuTicks(0, 100, 10, 1000),), (CpuInterrupts(0, 500),), 7, 1)
    after = Moment(12.0, (CpuTicks(0, 150, 30, 1200),), (CpuInterrupts(0, 700),), 27, 4)
    found = span("just now", before, after)
    assert (found.activity[0].busy, found.activity[0].stolen) == (0.25, 0.1)
    assert found.interrupts[0].per_second == 100
    assert (found.swapped_pages_per_second, found.throttled_periods) == (10, 3)


def test_since_boot_everything_rose_from_zero():
    found = since_boot(Moment(10.0, (CpuTicks(4, 250, 0, 1000),), (CpuInterrupts(4, 50),), 20, 2))
    assert (found.words, found.activity[0].busy, found.interrupts[0].per_second) == ("since boot", 0.25, 5)
    assert (found.swapped_pages_per_second, found.throttled_periods) == (2, 2)


def test_two_looks_at_the_same_moment_tell_nothing_of_rates():
    now = Moment(10.0, (CpuTicks(0, 1, 1, 10),), (CpuInterrupts(0, 5),), 7, 1)
    found = span("just now", now, now)
    assert (found.activity, found.interrupts, found.swapped_pages_per_second) == ((), (), None)


@given(moments, moments)
def test_whatever_was_counted_shares_are_shares_and_nothing_is_negative(before, after):
    found = span("just now", before, after)
    assert all(0 <= share <= 1 for each in found.activity for share in (each.busy, each.stolen))
    assert all(each.per_second >= 0 for each in found.interrupts)
    assert (found.swapped_pages_per_second or 0) >= 0
    assert (found.throttled_periods or 0) >= 0
    assert {each.cpu for each in found.activity} <= {each.cpu for each in before.ticks} & {
        each.cpu for each in after.ticks
    }
