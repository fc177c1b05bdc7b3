"""Sizes over cores and threads, on a pretend machine of 20 cores with eight threads each."""

import pytest

from benchmarks.shared.machines import SMT_YIELDS, SmtMachine, machine, smt_study
from scaling.analysis.capacity import answer
from scaling.analysis.fits.verdict import Verdict
from scaling.analysis.fitting import fit_all, without_levels
from scaling.analysis.series import selected_series
from scaling.analysis.sizing.levels import level_laws, neighbours, offered_sizes, range_reasons, refusal
from scaling.analysis.sizing.question import Goal, Question
from scaling.analysis.sizing.sizes import Sizes
from scaling.analysis.summary import select_points, summarize
from scaling.results.rows import launch_of
from scaling.study.planning import plan

SIZES = Sizes(tuple(range(1, 21)), "pretend", 8)


def fitted(networks, **pretend):
    """The fits of all levels together, by network."""
    rows = SmtMachine(**pretend).execute(plan(smt_study(networks=networks), machine(20, 8)).runs)
    series = selected_series(select_points(summarize(map(launch_of, rows))))
    return {one.series.key.settings.workload: one for one in without_levels(fit_all(series)[0])}


@pytest.fixture(scope="module")
def fits():
    return fitted(("alexnet", "seq2seq", "memnet"))


def test_the_yield_of_every_level_is_recovered_with_its_law(fits):
    for name, joint in fits.items():
        yields = {one.threads: one.of_core for one in joint.chosen.figures.smt_yields}
        assert list(yields) == [2, 4, 8]
        for threads, found in yields.items():
            assert found.value == pytest.approx(SMT_YIELDS[threads], rel=0.1), (name, threads)
        assert [level.series.key.smt for level in joint.levels] == [(1,), (2,), (4,), (8,)]


def test_sizes_are_offered_by_cores_then_by_threads_and_neighbours_are_next_to_them(fits):
    offered = offered_sizes(level_laws(fits["alexnet"], 10, SIZES), SIZES)
    orders = [size.order for size in offered]
    assert orders == [(cores, threads) for cores in range(1, 21) for threads in (1, 2, 4, 8)]
    beside = neighbours(offered[orders.index((5, 2))], offered)
    assert [size.order for size in beside] == [(4, 2), (5, 1), (5, 4), (6, 2)]
    assert [size.order for size in neighbours(offered[0], offered)] == [(1, 2), (2, 1)]


def test_where_no_law_describes_all_levels_each_answers_by_its_own():
    pretend = SmtMachine(noise=0.005, interference=0.02)
    (joint,) = fitted(["alexnet"], noise=0.005, interference=0.02).values()
    assert joint.verdict is Verdict.NO_LAW_FITS
    assert refusal(joint) is None
    assert range_reasons(joint)[0].code == "levels-apart"
    assert [law.threads for law in level_laws(joint, 10, SIZES)] == [1, 2, 4, 8]
    target = 0.8 * 32 / pretend.seconds("alexnet", 10, 1)
    given = answer(joint, Question(Goal.THROUGHPUT, target), SIZES)
    best = min(
        (cores, threads)
        for cores in SIZES.counts
        for threads in SMT_YIELDS
        if 32 / pretend.seconds("alexnet", cores, threads) > 1.01 * target
    )
    assert (given.allocation.cores, given.allocation.threads) == best
    true = pretend.seconds("alexnet", 1, 1) / pretend.seconds("alexnet", *best) / best[0]
    assert given.allocation.efficiency.value == pytest.approx(true, rel=0.03)
    assert given.reasons[0].code == "levels-apart"


def test_only_levels_that_were_measured_are_offered(fits):
    laws = level_laws(fits["memnet"], 10, Sizes((1, 2, 4), "small", 2))
    assert {law.threads for law in laws} == {1, 2, 4, 8}
