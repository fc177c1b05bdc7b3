from dataclasses import replace

import pytest

from benchmarks.shared.machines import first_run
from scaling.analysis import rules
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.sizing.answers import AnswerCode, SizeAnswer
from scaling.analysis.sizing.question import Basis, Grounds
from scaling.api.results import load
from scaling.reporting.answers import size_sentence
from tests.scaling.reporting.results import assert_question

POINT = replace(first_run().point, workload="prog", mode="run")
GIVEN = SizeAnswer("prog", POINT, AnswerCode.GIVE, cores=8, compared=8, speedup=Estimate(5.1, 3.7, 6.9))
BLANK = SizeAnswer(None, POINT, AnswerCode.NO_ANSWER)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (GIVEN, "give prog 8 cores: 5.1 times one core (3.7 to 6.9), 64 % efficient"),
        (
            replace(GIVEN, is_most=True),
            "give prog 8 cores, the largest count measured: 5.1 times one core (3.7 to 6.9), 64 % efficient",
        ),
        (
            replace(GIVEN, threads=2, at_least=True, left_out=(10, 11, 12)),
            "give prog 8 cores × 2 threads: at least 5.1 times one core, 64 % efficient; points on 10-12 cores cannot "
            "be used (disturbed or not valid)",
        ),
        (replace(GIVEN, cores=1), "give prog 1 core: 8 cores are 5.1 times one core (3.7 to 6.9), 64 % efficient"),
        (
            replace(GIVEN, basis=Basis(Grounds.BETWEEN, (4.0, 16.0)), single_launches=True),
            "give prog 8 cores: 5.1 times one core (3.7 to 6.9), 64 % efficient, interpolated between 4 and 16 cores, "
            "from one launch per core count",
        ),
        (
            replace(BLANK, verdict=Verdict.DISTURBED, doubt=Doubt(rules.STEAL, 0.3)),
            "no answer yet for prog: its points are disturbed because the hypervisor took 0.30 CPUs from it; "
            "measure on a quieter host, or run more launches",
        ),
        (
            replace(BLANK, code=AnswerCode.NOTHING_MEASURED, failure="it exited with status 2"),
            "no answer yet for prog: nothing was measured: it exited with status 2",
        ),
        (
            replace(BLANK, code=AnswerCode.ONE_CORE_COUNT, compared=4),
            "prog was measured on 4 cores only; to size it, measure other counts too",
        ),
    ],
)
def test_an_answer_is_one_sentence(answer, sentence):
    assert size_sentence(answer) == sentence


def test_the_study_s_own_question_is_answered():
    assert_question("turns-sixteen", "cores")


def test_series_of_one_core_count_each_have_one_answer_for_all():
    (answer,) = load("docs/examples/sections-sixteen").answers
    assert (answer.code, answer.subject) == ("one-core-count", "")
