from dataclasses import replace

import pytest

from scaling.analysis.sizing.levels import level_curves, offered_sizes
from scaling.analysis.sizing.question import CORE_HOURS, Goal, Question, Status
from scaling.analysis.sizing.services import Service, answer_service
from scaling.analysis.sizing.sizes import Price, Sizes
from tests.scaling.analysis.sizing.simulated import FIT, MEAN, TAIL, TRUTH, of_table

MACHINE = Sizes((1, 2, 4, 8), "small")


def response(seconds, arrivals=2.0, price=CORE_HOURS, of=FIT, sizes=MACHINE, **more):
    question = Question(Goal.RESPONSE, seconds, price=price, quantile=0.95, arrivals=arrivals, **more)
    return answer_service(of, question, sizes)


def test_the_replicas_answer_in_time_and_one_fewer_do_not():
    sized = response(3.0)
    assert sized.status is Status.OK
    plan, queue = sized.replicas, sized.queue
    assert plan.assurance == sized.allocation.assurance >= 0.95
    assert queue.response.value < queue.response.high <= 3.0 * 1.02
    offered = offered_sizes(level_curves(FIT, sized.question), MACHINE)
    size = next(one for one in offered if one.order == (plan.cores, plan.threads))
    fewer = Service(sized.question).queue(size, plan.replicas - 1)
    assert fewer.response.value > queue.response.value


def test_replicas_are_busy_for_the_service_of_the_requests():
    sized = response(3.0)
    service = MEAN * TRUTH.true_seconds(sized.replicas.cores)
    assert sized.queue.utilisation.value == pytest.approx(2.0 * service / sized.replicas.replicas, rel=0.02)
    assert sized.queue.waiting.value > 0.0


def test_few_requests_wait_for_nobody():
    sized = response(3.0, arrivals=1e-6)
    assert (sized.replicas.replicas, sized.replicas.cores) == (1, 1)
    assert sized.queue.response.value == pytest.approx(TAIL * TRUTH.true_seconds(1), rel=0.2)
    assert sized.queue.waiting.value == pytest.approx(0.0, abs=1e-4)


def test_a_price_per_replica_takes_fewer_and_larger_ones():
    small, large = response(3.0).replicas, response(3.0, price=Price(1.0, 20.0)).replicas
    assert large.replicas < small.replicas
    assert large.cores > small.cores


def test_faster_responses_never_cost_less():
    costs = [response(seconds).replicas.hourly_cost for seconds in (4.0, 1.0, 0.4)]
    assert costs == sorted(costs)


def test_a_response_faster_than_any_step_is_not_reachable():
    sized = response(0.05)
    assert (sized.status, sized.allocation, sized.queue) == (Status.NOT_REACHABLE, None, None)
    assert [reason.code for reason in sized.reasons] == ["no-replicas-enough"]


def test_of_a_plain_table_no_response_is_known():
    sized = response(3.0, of=of_table())
    assert (sized.status, [reason.code for reason in sized.reasons]) == (Status.REFUSED, ["steps-unknown"])


def test_more_requests_than_all_replicas_serve_are_not_reachable():
    assert response(3.0, arrivals=1e9).status is Status.NOT_REACHABLE


def test_a_stricter_quantile_never_takes_fewer_replicas():
    question = response(2.0).question
    plans = [answer_service(FIT, replace(question, quantile=share), MACHINE).replicas for share in (0.5, 0.99)]
    assert plans[0].hourly_cost <= plans[1].hourly_cost
