import pytest

from scaling.analysis.sizing.price import Price, cpu_hours_per_million


def test_a_million_units_take_so_many_core_hours():
    assert cpu_hours_per_million(6, 100.0) == pytest.approx(6 * 1e6 / 100 / 3600)


def test_a_replica_costs_its_cores_and_itself():
    price = Price(core_hour=0.05, replica_hour=0.2)
    assert price.hourly(4) == pytest.approx(0.4)
    assert price.per_million(4, 200.0) == pytest.approx(0.4 / 200 / 3600 * 1e6)
