"""CPU lists and masks as the kernel writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.cpulist import HIGHEST_CPU, format_list, ordered_list, parse_list, parse_mask
from tests.scaling.machine.invented import many_machines

cpu_sets = st.frozensets(st.integers(0, 300))


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("0", {0}),
        ("0-3,8", {0, 1, 2, 3, 8}),
        (" 0-1 , 4\n", {0, 1, 4}),
        ("0-15,88-89", {*range(16), 88, 89}),
        ("5-5", {5}),
    ],
)
def test_a_list_names_single_cpus_and_ranges(text, cpus):
    assert parse_list(text) == cpus


@pytest.mark.parametrize("text", [f"0-{'9' * 9999}", ",".join(["0-65535"] * 20), "x" * 10**6])
def test_an_endless_list_is_refused_in_a_short_sentence(text):
    with pytest.raises(ValueError, match="CPU") as refused:
        parse_list(text)
    assert len(str(refused.value)) < 200


def test_a_mask_is_as_wide_as_a_machine_may_be():
    assert parse_mask("1," + "0" * (HIGHEST_CPU // 4)) == {4 * (HIGHEST_CPU // 4)}
    assert parse_mask("0" * 10**6 + "3") == {0, 1}
    with pytest.raises(ValueError, match="more than 65536 CPUs"):
        parse_mask("f" * 10**6)


@pytest.mark.parametrize("text", ["x", "3-", "-3", "3-1", "1-2-3", "0.5", "1;2", "0x3", "-", "1 2", "0-3:2/4"])
def test_rubbish_is_no_list(text):
    with pytest.raises(ValueError, match="CPU number"):
        parse_list(text)


def test_a_slip_of_the_pen_does_not_eat_the_memory():
    with pytest.raises(ValueError, match=str(HIGHEST_CPU)):
        parse_list("0-99999999999")


def test_an_ordered_list_keeps_the_written_order_and_each_cpu_once():
    assert ordered_list("5,0-2,1,4,5") == (5, 0, 1, 2, 4)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", set()),
        ("1", {0}),
        ("f0", {4, 5, 6, 7}),
        ("00000001,00000000", {32}),
        ("ff000000,00000000,00000003", {0, 1, *range(88, 96)}),
    ],
)
def test_a_mask_has_a_bit_for_each_cpu_in_words_of_32(text, cpus):
    assert parse_mask(text) == cpus


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([3], "3"), ([1, 0], "0-1"), ([0, 1, 2, 3, 8], "0-3,8"), ([0, 2, 4], "0,2,4")]
)
def test_a_set_is_written_the_way_the_kernel_does(cpus, text):
    assert format_list(cpus) == text


@many_machines
@given(cpu_sets)
def test_what_is_written_as_a_list_reads_back(cpus):
    assert parse_list(format_list(cpus)) == cpus


@many_machines
@given(cpu_sets)
def test_a_mask_and_a_list_of_the_same_cpus_are_equal(cpus):
    assert parse_mask(f"{sum(1 << cpu for cpu in cpus):x}") == cpus


@many_machines
@given(st.lists(st.integers(0, 300), unique=True))
def test_an_ordered_list_reads_back_in_its_order(cpus):
    assert ordered_list(",".join(map(str, cpus))) == tuple(cpus)
