import pytest

from scaling.analysis.doubts import about_run
from scaling.analysis.rules import RULES
from scaling.analysis.witness import Circumstances, Witness

QUIET = {
    "cpus_at_start": "2-3",
    "cpus_at_end": "2-3",
    "cpus_visited": "2-3",
    "busy_threads": 2,
    "cpu_seconds": 19.8,
    "busy_seconds": 20.0,
    "run_queue_wait_seconds": 0.2,
    "sibling_busy_seconds": 0.1,
    "elsewhere_busy_seconds": 0.5,
    "steal_seconds": 0.1,
    "pressure_seconds": 0.2,
    "throttled_periods": 0,
    "parent_cpu_seconds": 0.01,
}


def names(witness: dict[str, object], intra: int = 0, inter: int = 0, seconds: float = 10.0) -> list[str]:
    given = Circumstances(frozenset({2, 3}), seconds, intra, inter)
    return [doubt.rule.name for doubt in about_run(Witness(**witness), given)]


def test_a_quiet_run_leaves_no_doubt():
    assert names(QUIET) == []


def test_what_the_machine_does_not_tell_is_no_doubt():
    assert names({}) == []


@pytest.mark.parametrize(
    ("seen", "doubt"),
    [
        ({"cpus_at_end": "2"}, "mask differed"),
        ({"cpus_at_start": "nonsense"}, "mask differed"),
        ({"cpus_visited": "2-3,5"}, "strayed"),
        ({"cpus_visited": "2"}, "CPUs unused"),
        ({"cpu_seconds": 18.0}, "foreign load"),
        ({"sibling_busy_seconds": 2.0}, "sibling load"),
        ({"elsewhere_busy_seconds": 9.0}, "load elsewhere"),
        ({"steal_seconds": 1.5}, "steal"),
        ({"throttled_periods": 1}, "throttled"),
        ({"run_queue_wait_seconds": 3.0, "pressure_seconds": 3.0}, "waiting"),
        ({"pressure_seconds": 3.0}, "pressure"),
    ],
)
def test_every_disturbance_has_its_name(seen, doubt):
    assert names({**QUIET, **seen}) == [doubt]


def test_more_threads_than_asked_for_are_seen_in_the_cpu_time():
    assert names(QUIET, intra=1, inter=1) == ["threads exceeded"]
    assert names(QUIET, intra=2, inter=1) == []
    assert names(QUIET, intra=1, inter=2) == []  # each of two ops at once has a thread


def test_threads_that_outnumber_their_cpus_wait_for_each_other():
    assert names({**QUIET, "busy_threads": 4, "run_queue_wait_seconds": 20.0}) == []


def test_the_threads_of_a_pipeline_are_not_among_those_of_the_framework():
    assert names({**QUIET, "pipeline_cpu_seconds": 10.0}, intra=1, inter=1) == []


def test_a_tick_more_or_less_is_no_foreign_load():
    assert names({"cpu_seconds": 0.18, "busy_seconds": 0.2}, seconds=0.2) == []


def test_the_time_that_the_parent_took_is_no_foreign_load():
    assert names({**QUIET, "cpu_seconds": 18.0, "parent_cpu_seconds": 1.81}) == []


def test_what_is_too_short_for_ticks_to_show_who_disturbed_it_is_said():
    unseen = Witness(steal_seconds=0.0)

    def hidden(*times: float) -> list[tuple[str, float]]:
        run_seconds, turn_seconds = times
        found = about_run(unseen, Circumstances(frozenset(range(4)), run_seconds, 0, 0, turn_seconds=turn_seconds))
        return [(doubt.rule.code, pytest.approx(doubt.amount)) for doubt in found]

    assert hidden(0.1, None) == hidden(10.0, 0.1) == [("too-short-to-see", 0.2)]
    assert hidden(0.2, None) == hidden(10.0, 0.3) == []
    assert about_run(Witness(), Circumstances(frozenset({0}), 0.01, 0, 0)) == ()


def test_stolen_and_foreign_time_is_not_divided_by_the_cpus():
    stolen = {"cpus_at_start": "0-15", "steal_seconds": 1.5}
    seen = about_run(Witness(**stolen), Circumstances(frozenset(range(16)), 10.0, 0, 0))
    assert [(doubt.rule.name, round(doubt.amount, 3)) for doubt in seen] == [("steal", 0.146)]


def test_a_caution_of_the_framework_is_a_setting_that_did_not_hold():
    (doubt,) = about_run(Witness(), Circumstances(frozenset({0}), 1.0, 0, 0, ("the pool has 3 threads, not 2",)))
    assert (doubt.rule.name, doubt.detail) == ("setting not held", "the pool has 3 threads, not 2")


def test_every_rule_has_its_own_code_and_gives_a_reason():
    assert len({rule.code for rule in RULES}) == len(RULES) >= 15
    assert all(rule.why for rule in RULES)


def test_no_share_of_the_time_is_more_than_all_and_no_more_cpus_are_taken_than_there_are():
    run = Circumstances(frozenset({0, 1}), 0.001, 0, 0)
    witness = Witness(busy_threads=1, run_queue_wait_seconds=0.002, pressure_seconds=0.009, steal_seconds=0.0)
    amounts = {doubt.rule.code: doubt.amount for doubt in about_run(witness, run)}
    assert (amounts["waiting"], amounts["pressure"], amounts["too-short-to-see"]) == (1.0, 1.0, 2.0)
