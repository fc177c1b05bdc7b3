from itertools import product

import numpy as np
import pytest

from benchmarks.shared.launches import TO_16, Truth, series
from scaling.analysis.capacity import answer
from scaling.analysis.fits.prediction import chance_within
from scaling.analysis.fitting import fit
from scaling.analysis.sizing.price import Price
from scaling.analysis.sizing.question import Goal, Question, Status
from scaling.analysis.sizing.replicas import cheapest_replicas

FIT = fit(series(Truth(0.05, noise=0.02, grid=TO_16), np.random.default_rng(1)), resamples=0)
DRAWN = FIT.draws(400)
PLAIN, DEAR = Price(1.0, 0.0), Price(1.0, 5.0)


def brute(seconds, price, assurance):
    """The cheapest of every fleet there is, of equal ones the fewest replicas."""
    fleets = [
        (replicas * price.hourly(cores), replicas, cores)
        for cores, replicas in product(range(1, 17), range(1, 60))
        if chance_within(DRAWN, seconds * replicas, np.array([float(cores)]), launches=replicas)[0] >= assurance
    ]
    return min(fleets)


@pytest.mark.parametrize("price", [PLAIN, DEAR], ids=["plain", "dear replicas"])
@pytest.mark.parametrize("rate", [0.5, 3.0, 17.0, 40.0])
def test_the_fleet_is_the_cheapest_of_all(price, rate):
    found = cheapest_replicas(DRAWN, 1.0 / rate, range(1, 17), price, 0.95)
    assert (found.hourly_cost, found.replicas, found.cores) == brute(1.0 / rate, price, 0.95)
    assert found.assurance >= 0.95


def test_where_a_replica_costs_nothing_by_itself_cores_are_not_shared_out_in_large_ones():
    assert cheapest_replicas(DRAWN, 1.0 / 40, range(1, 17), PLAIN, 0.95).cores == 1
    assert cheapest_replicas(DRAWN, 1.0 / 40, range(1, 17), DEAR, 0.95).cores > 4


def test_a_throughput_out_of_reach_of_one_replica_is_in_reach_of_several():
    found = answer(FIT, Question(Goal.THROUGHPUT, 100.0, price=DEAR))
    assert (found.status, found.offer) == (Status.NOT_REACHABLE, None)
    assert found.replicas.replicas > 1


def test_other_questions_have_no_fleet():
    assert answer(FIT, Question(Goal.LATENCY, 0.2)).replicas is None


def test_no_fleet_is_larger_than_a_million():
    assert cheapest_replicas(DRAWN, 1e-9, (1, 2), PLAIN, 0.95) is None
