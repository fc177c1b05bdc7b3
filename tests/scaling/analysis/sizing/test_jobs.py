import pytest

from scaling.analysis.curves.fit import fit
from scaling.analysis.sizing.jobs import answer_job
from scaling.analysis.sizing.question import Goal, Question, Status
from scaling.analysis.sizing.sizes import Sizes
from tests.published import NO_SINGLE, rates
from tests.scaling.analysis.sizing.simulated import FIT, MEAN, TRUTH, of_table

ITEMS = 36_000.0


def deadline(seconds, assurance=0.95, of=FIT):
    return answer_job(of, Question(Goal.DEADLINE, seconds, assurance, items=ITEMS))


def test_a_job_takes_the_mean_of_all_its_steps():
    sized = deadline(2 * 3600.0)
    for one in (sized.allocation, *sized.neighbours):
        expected = ITEMS * MEAN * TRUTH.true_seconds(one.cores)
        assert one.job_seconds.low < expected < one.job_seconds.high
        assert one.job_seconds.value == pytest.approx(expected, rel=0.01)


def test_the_size_is_the_smallest_that_keeps_the_deadline():
    sized = deadline(2 * 3600.0)
    below = next(one for one in sized.neighbours if one.cores == sized.allocation.cores - 1)
    assert below.assurance < 0.95 <= sized.allocation.assurance
    assert sized.allocation.job_seconds.value < 2 * 3600.0


def test_more_assurance_and_more_items_never_take_fewer_cores():
    sizes = [deadline(9000.0, assurance).allocation.cores for assurance in (0.5, 0.8, 0.95, 0.999)]
    assert sizes == sorted(sizes)
    twice = answer_job(FIT, Question(Goal.DEADLINE, 9000.0, items=2 * ITEMS))
    assert twice.allocation.cores > deadline(9000.0).allocation.cores


def test_steps_of_a_plain_table_are_all_alike():
    assert deadline(9000.0, of=of_table()).allocation.job_seconds.value == pytest.approx(
        deadline(9000.0).allocation.job_seconds.value / MEAN, rel=0.3
    )


def test_without_a_deadline_the_recommended_size_has_its_time():
    sized = answer_job(FIT, Question(Goal.WORK, ITEMS, items=ITEMS), Sizes((1, 2, 4, 8, 16), "epyc"))
    assert (sized.status, sized.allocation.cores) == (Status.OK, 16)
    assert [one.cores for one in sized.neighbours] == [8]
    assert sized.allocation.job_seconds.value == pytest.approx(ITEMS * MEAN * TRUTH.true_seconds(16), rel=0.01)


@pytest.mark.parametrize("goal", [Goal.WORK, Goal.DEADLINE])
def test_a_series_without_one_core_has_its_time_too(goal):
    odd = answer_job(fit(rates("odd", NO_SINGLE)), Question(goal, 1.0, items=1.0))
    assert odd.status is Status.OK
    seconds = odd.allocation.job_seconds
    assert 0.0 < seconds.low < seconds.value < seconds.high
