import numpy as np
import pytest

from scaling.analysis.queueing import MOST_BUSY, ServiceShape, response_curve, service_shape
from scaling.analysis.series import HostTurns
from scaling.analysis.step_times import LEVELS, step_times
from scaling.analysis.summary import HostSlowdown

CONSTANT = ServiceShape((1.0,) * len(LEVELS))


def steps_on(cpus, *launches):
    times = tuple(step_times(steps) for steps in launches)
    return HostTurns(cpus, ((1.0,),) * len(launches), HostSlowdown(1.0, 1.0, 1.0, 1.0, len(launches)), times)


def exponential():
    chance = np.random.default_rng(1)
    return service_shape([steps_on(1.0, chance.exponential(0.02, 20_000).tolist())], 1.0)


def second_moment(shape):
    low, high = np.array(shape.values[:-1]), np.array(shape.values[1:])
    return float(np.diff(LEVELS) @ (low**2 + low * high + high**2)) / 3.0


@pytest.mark.parametrize("utilisation", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("shape", [CONSTANT, exponential()], ids=["constant", "exponential"])
def test_one_server_keeps_requests_waiting_as_pollaczek_and_khinchine_say(shape, utilisation):
    mean_wait = utilisation * second_moment(shape) / 2.0 / (1.0 - utilisation)
    assert response_curve(shape, 1, 0.95).waiting(utilisation, 1.0) == pytest.approx(mean_wait, rel=0.06)


def test_exponential_services_respond_as_the_queue_of_erlang():
    """With one server the response is exponential: its 95 % quantile is -ln(0.05) / (1 - utilisation)."""
    curve = response_curve(exponential(), 1, 0.95)
    assert curve.response(0.5, 1.0) == pytest.approx(-np.log(0.05) / 0.5, rel=0.08)
    two = response_curve(exponential(), 2, 0.95)
    assert two.waiting(1.0, 1.0) == pytest.approx(1.0 / 3.0, rel=0.08)  # Erlang's C formula at 50 %


def test_more_servers_are_never_slower_at_the_same_utilisation():
    waits = [response_curve(CONSTANT, servers, 0.95).waiting(0.8 * servers, 1.0) for servers in (1, 2, 8)]
    assert waits == sorted(waits, reverse=True)
    assert response_curve(CONSTANT, 1000, 0.95).response(800.0, 1.0) < 1.3


def test_a_request_that_never_waits_takes_as_long_as_its_service():
    assert response_curve(CONSTANT, 1, 0.95).response(1e-9, 0.2) == pytest.approx(0.2)


def test_where_servers_are_busy_all_the_time_there_is_no_response():
    curve = response_curve(CONSTANT, 2, 0.95)
    assert curve.response(2.0, 1.0) == curve.waiting(1.95, 1.0) == np.inf


@pytest.mark.parametrize("seconds", [0.05, 0.2, 1.0])
def test_the_longest_service_just_keeps_the_response(seconds):
    curve = response_curve(exponential(), 2, 0.95)
    longest = curve.longest_service(30.0, seconds)
    if curve.utilisation(30.0, longest) < MOST_BUSY - 1e-9:
        assert curve.response(30.0, longest) == pytest.approx(seconds, rel=1e-3)
    assert curve.response(30.0, 0.99 * longest) < seconds


def test_the_shape_of_services_is_that_of_steps_between_counts_too():
    chance = np.random.default_rng(1)
    narrow, wide = (np.exp(chance.normal(0.0, spread, 2000)).tolist() for spread in (0.01, 0.5))
    host = [steps_on(1.0, narrow, narrow), steps_on(4.0, wide)]
    tails = [service_shape(host, cpus).quantile(0.95) for cpus in (1.0, 2.0, 4.0)]
    assert tails[0] == pytest.approx(np.exp(0.01 * 1.645), abs=0.01)
    assert tails[1] == pytest.approx((tails[0] + tails[2]) / 2.0, rel=0.02)
    assert service_shape([], 1.0) is None
