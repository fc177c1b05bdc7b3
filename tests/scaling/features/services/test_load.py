from math import sqrt

import pytest

from scaling.analysis.rules import Verdict
from scaling.analysis.summary import summarize
from scaling.features.services.load import Promise, curves, doubts, latencies, services, smallest, unproven
from tests.scaling.features.services.loads import grid, launches, point, summaries, usl


def test_the_curve_over_clients_finds_the_law_and_its_peak():
    (service,) = services(grid(cores=[1]))
    (curve,) = [one for one in curves(service) if one.cores == 1]
    assert curve.fit.law.value == "usl"
    assert curve.peak.value == pytest.approx(sqrt(0.95 / 0.001), rel=0.1)
    assert curve.fit.rate_at_1.value == pytest.approx(1000, rel=0.05)


def test_throughput_that_only_falls_with_clients_has_its_peak_at_one():
    (service,) = services(summaries({point(1, clients): 1000.0 * clients**-0.2 for clients in (1, 2, 4, 8, 16)}))
    (curve,) = [one for one in curves(service) if one.cores == 1]
    assert curve.peak is None or 1.0 <= curve.peak.low <= curve.peak.value <= curve.peak.high < 3.0


def test_throughput_that_never_fell_has_no_number_of_clients_from_which_it_falls():
    def falls_from(rates: dict[int, float]) -> int | None:
        (service,) = services(summaries({point(1, clients): rate for clients, rate in rates.items()}))
        return next(one for one in curves(service) if one.cores == 1).falls_from

    assert falls_from({1: 1000.0, 2: 1700.0, 4: 2500.0}) is None
    assert falls_from({1: 1000.0, 2: 1700.0, 4: 1200.0}) == 2


def test_the_fewest_clients_that_do_nearly_the_most_saturate_a_size():
    (service,) = services(summaries({point(1, 4): 900.0, point(1, 8): 970.0, point(1, 16): 1000.0}))
    assert service.saturated(1).point.clients == 8


def test_the_curve_over_cores_is_at_the_clients_that_saturate_each():
    (service,) = services(grid())
    most = service.saturated(1)
    assert most.point.clients == 32
    assert usl(32) > 0.95 * max(map(usl, (1, 2, 4, 8, 16, 32, 64)))
    (over_cores,) = [one for one in curves(service) if one.cores is None]
    assert over_cores.fit.speedup(2.0).value == pytest.approx(1.8, rel=0.02)


def test_a_generator_that_is_busy_while_the_server_is_not_makes_a_bound():
    (bound,) = summaries({point(1, 4): 500.0}, generator_busy=0.97, server_busy=0.4)
    assert bound.verdict is Verdict.DISTURBED
    assert [doubt.rule.code for doubt in bound.doubts][-1] == "generator-bound"


@pytest.mark.parametrize(("generator", "server"), [(0.97, 0.95), (0.5, 0.4)])
def test_a_generator_is_the_bottleneck_only_where_the_server_waits_for_it(generator, server):
    assert not doubts({"generator_busy": (generator,), "server_busy": (server,), "shared_cpus": (0.0,)})


def test_shared_cores_are_a_caution():
    (shared,) = summaries({point(2, 4): 500.0}, shared_cpus=2.0)
    assert shared.verdict is Verdict.OK
    assert [doubt.rule.code for doubt in shared.doubts] == ["shared-with-generator"]


def test_what_has_no_generator_is_no_service():
    assert services(summaries({})) == []
    assert latencies(grid()) == ["p99"]


def test_the_fewest_cores_that_were_measured_keep_a_promise():
    (service,) = services(grid())
    assert smallest(service, Promise(5000.0)).point.point.cores == 1
    assert smallest(service, Promise(12000.0)).point.point.cores == 2
    assert smallest(service, Promise(5000.0, 0.001, "p99")) is None


def test_replicas_are_named_where_no_server_is_enough():
    (service,) = services(grid())
    size = smallest(service, Promise(40000.0, 0.01, "p99"))
    assert size.replicas > 1
    assert size.replicas * size.point.rate.low >= 40000.0
    (one,) = services(summaries({point(1, 8): 1000.0}))
    assert smallest(one, Promise(one.points[0].rate.low)).replicas == 1
    assert smallest(one, Promise(one.points[0].rate.value)).replicas == 2


def test_of_replicas_those_with_the_fewest_cores_together_are_named():
    (service,) = services(summaries({point(1, 8): 210.0, point(2, 8): 550.0}))
    size = smallest(service, Promise(1000.0))
    assert (size.replicas, size.point.point.cores) == (2, 2)


def test_a_point_without_an_interval_promises_nothing_and_is_named_as_a_smaller_size():
    (alone, *_), larger = launches(point(1, 8), 1000.0), launches(point(2, 8), 1800.0)
    (service,) = services(summarize([alone]))
    assert smallest(service, Promise(900.0)) is None
    assert unproven(service, Promise(900.0), None).point.point.cores == 1
    (both,) = services(summarize([alone, *larger]))
    size = smallest(both, Promise(900.0, 0.01, "p99"))
    assert (size.point.point.cores, unproven(both, Promise(900.0), size).point.point.cores) == (2, 1)
    assert unproven(both, Promise(1500.0), size) is None


def test_a_rate_that_was_offered_and_kept_counts_as_that_rate():
    (service,) = services(summaries({point(1, 8, rate=1000.0): 992.0}))
    assert smallest(service, Promise(1000.0)).replicas == 1
    (short,) = services(summaries({point(1, 8, rate=1000.0): 900.0}))
    assert smallest(short, Promise(1000.0)).replicas == 2


def test_a_latency_counts_by_the_worse_end_of_its_interval():
    (service,) = services(summaries({point(1, 8): 1000.0}, p99=0.002))
    high = service.points[0].figure("p99").high
    assert smallest(service, Promise(900.0, high, "p99")) is not None
    assert smallest(service, Promise(900.0, 0.002, "p99")) is None
