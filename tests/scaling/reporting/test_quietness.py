"""How quiet a host was, in words."""

from dataclasses import replace

from scaling.analysis.speedup import speedups
from scaling.analysis.summary import HostSlowdown, summarize
from scaling.reporting.quietness import quietness_facts, quietness_table
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


def test_a_point_without_a_quiet_turn_has_no_ratios_in_the_table():
    busy, never = quietness_table(on_host(BUSY, NEVER)).rows
    assert busy[1:6] == ("10", "50 %", "× 1.00", "× 1.10", "× 1.40")
    assert never[1:6] == ("10", "0 %", "-", "-", "-")
    busy, never = (point["host"] for point in quietness_facts(on_host(BUSY, NEVER))["points"])
    assert [(host["p50"], host["quiet_share"]) for host in (busy, never)] == [(1.1, 0.5), (None, 0.0)]
