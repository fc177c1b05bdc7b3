"""The same work by several frameworks: how many times the fastest's a step takes, where both can be relied on."""

from dataclasses import replace

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis.backends import compare_backends
from scaling.analysis.rules import Verdict
from scaling.analysis.summary import summarize
from scaling.results.rows import Row, launch_of
from scaling.study.planning import plan

FACTORS = {"tensorflow": 1.5, "torch": 2.0, "jax": 1.0}


def made(frameworks: str) -> list[Row]:
    """Rows of a study whose frameworks differ by known factors."""
    question = study(f'workloads = ["fcn"]\nframework = {frameworks}\ncores = [1, 2]\nlaunches = 4')

    def by_framework(row: Row) -> Row:
        factor = FACTORS[row.run.point.framework]
        return replace(
            row,
            outcome=replace(row.outcome, step_seconds=tuple(factor * step for step in row.outcome.step_seconds)),
        )

    return [by_framework(row) for row in AmdahlMachine(noise=0.01).execute(plan(question, machine(2)).runs)]


def test_every_point_is_held_against_the_fastest():
    one, two = compare_backends(summarize(map(launch_of, made('["tensorflow", "torch", "jax"]'))))
    assert (one.point.cores, two.point.cores) == (1, 2)
    for found in (one, two):
        assert {framework for framework, _ in found.summaries} == FACTORS.keys()
        for (framework, _), ratio in found.ratios.items():
            assert ratio.value == pytest.approx(FACTORS[framework], rel=0.05)
            assert ratio.low is None if framework == "jax" else ratio.low < ratio.value < ratio.high


def test_what_cannot_be_relied_on_is_fastest_of_nothing():
    summaries = summarize(map(launch_of, made('["tensorflow", "jax"]')))
    doubtful = [replace(one, verdict=Verdict.DISTURBED) if one.point.framework == "jax" else one for one in summaries]
    for found in compare_backends(doubtful):
        assert {framework: ratio.value for (framework, _), ratio in found.ratios.items()} == {"tensorflow": 1.0}


def test_one_framework_is_compared_with_none():
    assert compare_backends(summarize(map(launch_of, made('["torch"]')))) == []
