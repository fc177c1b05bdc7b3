import pytest

from scaling.analysis.sizing.sizes import Price, machine_sizes


def cpus(first, last):
    return range(first, last + 1)


def test_within_one_cache_any_number_and_beyond_it_whole_caches():
    cores = [[cpu] for cpu in range(16)]
    caches = [cpus(0, 3), cpus(4, 7), cpus(8, 11), cpus(12, 15)]
    sizes = machine_sizes(cores, caches, [cpus(0, 7), cpus(8, 15)], range(16), "epyc")
    assert sizes.counts == (1, 2, 3, 4, 8, 12, 16)
    assert (sizes.machine, sizes.threads) == ("epyc", 1)


def test_one_cache_for_all_offers_every_count():
    assert machine_sizes([[cpu] for cpu in range(6)], [range(6)], [range(6)], range(6), "small").counts == (
        1,
        2,
        3,
        4,
        5,
        6,
    )


def test_without_caches_whole_nodes_are_offered():
    sizes = machine_sizes([[cpu] for cpu in range(8)], [], [cpus(0, 3), cpus(4, 7)], range(8), "arm")
    assert sizes.counts == (1, 2, 3, 4, 8)


def test_physical_cores_are_counted_once_and_only_those_a_run_may_use():
    cores = [[cpu, cpu + 4] for cpu in range(4)]
    sizes = machine_sizes(cores, [range(8)], [range(8)], range(8), "smt")
    assert (sizes.counts, sizes.threads) == ((1, 2, 3, 4), 2)
    assert machine_sizes(cores, [range(8)], [range(8)], [0, 1, 4, 5], "smt").counts == (1, 2)


def test_a_core_in_no_cache_is_not_lost():
    assert machine_sizes([[0], [1], [2]], [[0, 1]], [], range(3), "odd").counts == (1, 2, 3)


def test_at_the_usual_price_a_million_units_cost_their_core_hours():
    assert Price().per_million(6, 100.0) == pytest.approx(6 * 1e6 / 100 / 3600)


def test_a_replica_costs_its_cores_and_itself():
    price = Price(core_hour=0.05, replica_hour=0.2)
    assert price.hourly(4) == pytest.approx(0.4)
    assert price.per_million(4, 200.0) == pytest.approx(0.4 / 200 / 3600 * 1e6)


def test_whole_nodes_are_offered_where_the_caches_of_two_are_numbered_in_turns():
    caches = [(0, 1), (2, 3), (4, 5, 6, 7), (8, 9)]
    nodes = [(0, 1, 4, 5, 6, 7), (2, 3, 8, 9)]
    assert machine_sizes([[cpu] for cpu in range(10)], caches, nodes, range(10), "odd").counts == (1, 2, 3, 4, 6, 8, 10)
