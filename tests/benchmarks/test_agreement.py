from benchmarks.agreement import collect, disagreements
from scaling.api.results import load


def test_no_quantity_has_two_values_without_a_name_and_one_that_has_is_found():
    figures = collect(load("docs/examples/turns-sixteen"))
    assert {"measured speedup", "curve speedup", "curve limit", "curve rate_at_1"} <= {name for name, _ in figures}
    assert disagreements(figures) == []
    name = next(iter(figures))
    place, value, digits = figures[name][0]
    figures[name].append((place, 1.1 * value, digits))
    assert [one for one, _ in disagreements(figures)] == [name]
