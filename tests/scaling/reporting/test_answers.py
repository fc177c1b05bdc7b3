from dataclasses import replace

from benchmarks.shared.machines import first_run
from scaling.analysis import rules
from scaling.analysis.rules import Doubt
from scaling.analysis.speedup import speedups
from scaling.analysis.summary import Launch, summarize
from scaling.reporting.answers import answers

POINT = replace(first_run().point, workload="prog", mode="run")


def answer(times: dict[int, float], *doubts: Doubt, launches: int = 5) -> str:
    """The answer about a program that takes so long on so many cores."""
    made = [
        Launch(
            replace(POINT, cores=cores),
            number,
            seconds * (1 + 0.01 * ((number * cores) % 5 - 2)),
            items=1,
            steps=1,
            doubts=doubts,
        )
        for cores, seconds in times.items()
        for number in range(1, launches + 1)
    ]
    (found,) = answers(speedups(summarize(made)))
    assert found.known == ("no answer yet" not in found.sentence)
    return found.sentence


def test_the_cores_before_the_knee_are_given():
    sentence = answer({1: 8.0, 2: 4.1, 4: 2.2, 8: 1.9, 16: 1.9})
    assert sentence.startswith("prog: give it 4 cores: 3.64 times one core (")
    assert sentence.endswith(", 91 % efficient")


def test_where_all_pay_the_most_that_were_measured_are_given():
    assert "give it 2 cores, the most that were measured: 1.9 times" in answer({1: 1.9, 2: 1.0})


def test_where_none_pay_one_core_is_given():
    assert answer({1: 1.0, 2: 1.0}).startswith("prog: give it one core: 2 cores are 1 times one core")


def test_an_imprecise_answer_says_why():
    sentence = answer({1: 1.9, 2: 1.0}, launches=2)
    assert "; imprecise because launches that count: 2" in sentence


def test_one_number_of_cores_asks_nothing_about_scaling():
    assert answer({4: 2.0}).startswith("prog: measured on 4 cores alone")


def test_launches_that_differ_too_much_are_no_answer():
    made = [
        Launch(replace(POINT, cores=cores), number, seconds * slower, items=1)
        for cores, seconds in ((1, 1.9), (2, 1.0))
        for number, slower in enumerate((1.0, 1.0 + 0.6 * (cores == 2), 3.0), 1)
    ]
    (found,) = answers(speedups(summarize(made)))
    assert (found.known, found.sentence.startswith("prog: no answer yet")) == (False, True)


def test_a_disturbed_answer_says_by_what():
    sentence = answer({1: 1.9, 2: 1.0}, Doubt(rules.STEAL, 0.3))
    assert sentence.startswith("prog: no answer yet; disturbed because the hypervisor gave 0.30 CPUs")
    assert "(in 5 of 5 launches)" in sentence


def test_where_nothing_was_measured_the_answer_says_why():
    (found,) = answers(speedups(summarize([Launch(POINT, 1, None, reason="prog exited with status 2")])))
    assert (found.known, found.sentence) == (False, "prog: nothing was measured: prog exited with status 2")
