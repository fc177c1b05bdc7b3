"""Replicas as one run: the window in which all run, what each did in it, how fair that was and how late each began."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.packs import ReplicaRun, common_window, jain_index, merge, shares_within
from scaling.analysis.turns import Turn, TurnSpan
from scaling.machine.placement import Sharing

APART = Sharing(core=0, l3=0, node=0, socket=1)


def replica(cpus: str, steps: list[float], began: float = 10.0, *, visited: str | None = None, **turn: float):
    """A replica that took these steps, one after another, in one turn that counts from its beginning."""
    seconds = sum(steps)
    return ReplicaRun(
        cpus=cpus,
        allowed=cpus,
        cpus_visited=visited or cpus,
        shares=APART,
        items_per_step=4,
        step_seconds=[1.0, *steps],
        turns=[Turn(0, 1, 0, 1.0), Turn(1, len(steps), 0, seconds, **turn)],
        spans=[TurnSpan(5.0, 5.0, 6.0), TurnSpan(began, began, began + seconds)],
    )


def test_the_window_is_where_all_run():
    assert common_window([TurnSpan(0, 1, 5), TurnSpan(0, 2, 7)]) == (2, 5)
    begin, end = common_window([TurnSpan(0, 1, 2), TurnSpan(0, 3, 7)])
    assert begin == end


@given(
    steps=st.lists(st.floats(0.001, 1.0), min_size=1, max_size=30),
    gap=st.floats(0.0, 0.5),
    window=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
)
def test_the_parts_of_steps_in_a_window_fill_it(steps, gap, window):
    span = TurnSpan(0.0, 0.0, sum(steps) + gap)
    low, high = sorted(part * span.ended for part in window)
    parts = shares_within(steps, span, (low, high))
    assert all(0 <= part <= 1 for part in parts)
    stretch = span.ended / sum(steps)
    assert sum(part * seconds * stretch for part, seconds in zip(parts, steps, strict=True)) == pytest.approx(
        high - low, abs=1e-9
    )


def test_equal_replicas_do_twice_the_work_of_one():
    merged = merge([replica("0", [0.1] * 10), replica("1", [0.1] * 10)])
    pack = merged.pack
    assert pack.items_per_second == pytest.approx(2 * 4 / 0.1)
    assert pack.rates_of(2) == pytest.approx([80.0])
    assert pack.rates_of(1) == pytest.approx([40.0])
    assert (pack.fairness, pack.slowest_over_fastest) == pytest.approx((1.0, 1.0))
    assert pack.start_skew == pack.worst_start_skew == 0
    assert pack.disjoint
    assert merged.turns[1].seconds == pytest.approx(1.0)
    assert merged.step_seconds[1:] != ()


def test_only_the_window_in_which_all_run_counts():
    # The second begins half a second later and ends half a second later; the first runs alone at twice the speed.
    early = replica("0", [0.05] * 10 + [0.1] * 5)
    late = replica("1", [0.1] * 5 + [0.05] * 10, began=10.5)
    merged = merge([early, late])
    assert merged.pack.windows == pytest.approx((0.5,))
    assert [one.items_per_second for one in merged.pack.replicas] == pytest.approx([40.0, 40.0])
    assert merged.step_seconds[-10:] == pytest.approx((0.1,) * 10)
    assert [one.late_seconds for one in merged.pack.replicas] == pytest.approx([0.0, 0.5])
    assert merged.pack.start_skew == pytest.approx(1.0)


def test_a_step_that_is_cut_by_the_window_counts_by_its_part():
    merged = merge([replica("0", [1.0, 1.0]), replica("1", [1.5, 1.5])])
    assert merged.pack.windows == pytest.approx((2.0,))
    assert [one.items_per_second for one in merged.pack.replicas] == pytest.approx([4.0, 4 / 1.5])
    # Of the second's latency the step that lies wholly in the window tells.
    assert merged.turns[1].steps == 3
    assert merged.pack.slowest_over_fastest == pytest.approx(1 / 1.5)


def test_turns_count_by_their_windows_and_the_latest_start_is_the_worst():
    def two_turns(cpu: str, first: float, second: float) -> ReplicaRun:
        turns = [Turn(0, 1, 0, 1.0), Turn(1, 10, 0, 1.0), Turn(2, 5, 0, 2.0)]
        begun = [(5.0, 6.0), (10.0 + first, 11.0 + first), (20.0 + second, 22.0 + second)]
        spans = [TurnSpan(began, began, ended) for began, ended in begun]
        return replace(replica(cpu, []), step_seconds=[1.0, *[0.1] * 10, *[0.4] * 5], turns=turns, spans=spans)

    pack = merge([two_turns("0", 0.0, 0.0), two_turns("1", 0.1, 0.4), two_turns("2", 0.1, 0.4)]).pack
    assert pack.windows == pytest.approx((0.9, 1.6))
    assert pack.items_per_second == pytest.approx(3 * (40 * 0.9 + 10 * 1.6) / 2.5)
    assert pack.worst_start_skew == pytest.approx(0.25)


def test_replicas_that_never_ran_at_once_have_no_window():
    merged = merge([replica("0", [0.1]), replica("1", [0.1], began=20.0)])
    assert merged.turns[1].seconds == merged.turns[1].steps == 0
    assert merged.pack.items_per_second == 0
    assert merged.pack.start_skew == 1


def test_what_happened_beside_is_summed_over_replicas_as_far_as_it_falls_into_the_window():
    seen = {"cpu_seconds": 1.0, "steal_seconds": 0.25, "elsewhere_seconds": 0.5}
    turn = merge([replica("0", [0.1] * 10, **seen), replica("1", [0.1] * 10, began=10.5, **seen)]).turns[1]
    assert (turn.cpu_seconds, turn.steal_seconds) == pytest.approx((1.0, 0.25))
    assert turn.elsewhere_seconds == 0.5
    assert turn.busy_seconds is None


def test_many_steps_are_sampled_and_few_are_kept():
    many = merge([replica(str(cpu), [0.001] * 1000) for cpu in range(4)])
    assert 200 <= many.turns[1].steps == len(many.step_seconds) - many.turns[0].steps <= 1001
    assert sum(one.steps for one in many.pack.replicas) == pytest.approx(4000, abs=8)
    few = merge([replica(str(cpu), [0.1] * 10) for cpu in range(4)])
    assert few.turns[1].steps == 40


@pytest.mark.parametrize(("second", "visited"), [("0-1", "1"), ("1", "0")])
def test_cpus_that_two_replicas_may_use_or_one_strayed_to_are_not_disjoint(second, visited):
    assert not merge([replica("0", [0.1]), replica(second, [0.1], visited=visited)]).pack.disjoint


@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=8))
def test_fairness_is_one_where_all_are_equal_and_at_least_one_over_their_number(rates):
    assert 1 / len(rates) - 1e-9 <= jain_index(rates) <= 1 + 1e-9
    assert jain_index([rates[0]] * 4) == pytest.approx(1.0)
    assert jain_index([0.0, 0.0, 0.0, 1.0]) == 0.25
