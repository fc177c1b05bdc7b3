"""How quiet a host was, in words."""

from dataclasses import replace

import pytest

from scaling.analysis.speedup import speedups
from scaling.analysis.summary import HostSlowdown, summarize
from scaling.reporting.quietness import quietness_facts, quietness_sentence, quietness_table
from scaling.results.rows import launch_of
from tests.scaling.reporting.results import made

POINTS = speedups(summarize(launch_of(one) for one in made("cores = [1, 2]")))


def on_host(*slowdowns: HostSlowdown):
    return [
        replace(point, summary=replace(point.summary, slowdown=slowdown))
        for point, slowdown in zip(POINTS, slowdowns, strict=False)
    ]


QUIET, BUSY, NEVER = (
    HostSlowdown(1.0, 1.0, 1.02, 1.0, 10),
    HostSlowdown(1.0, 1.1, 1.4, 0.5, 10),
    HostSlowdown(1, 2, 3, 0.0, 10),
)


@pytest.mark.parametrize(
    ("slowdowns", "sentence"),
    [
        ((), "The results do not record"),
        ((QUIET,), "10 of 10 turns were quiet. Nine tenths of the turns took at most 5 % longer than the step time."),
        ((QUIET, BUSY), "15 of 20 turns were quiet. Turns took longest at "),
        ((QUIET, NEVER), "10 of 20 turns were quiet. No turn was quiet at 1 of 2 points; "),
        ((NEVER, NEVER), "None of 20 turns was quiet, so there is no step time to compare them with; "),
    ],
)
def test_how_much_longer_turns_took_is_said_only_against_quiet_ones(slowdowns, sentence):
    assert quietness_sentence(on_host(*slowdowns)).startswith(sentence)


def test_a_point_without_a_quiet_turn_has_no_ratios_in_the_table():
    busy, never = quietness_table(on_host(BUSY, NEVER)).rows
    assert busy[1:6] == ("10", "50 %", "× 1.00", "× 1.10", "× 1.40")
    assert never[1:6] == ("10", "0 %", "-", "-", "-")
    busy, never = (point["host"] for point in quietness_facts(on_host(BUSY, NEVER))["points"])
    assert [(host["p50"], host["quiet_share"]) for host in (busy, never)] == [(1.1, 0.5), (None, 0.0)]
