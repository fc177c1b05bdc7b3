from math import inf, nan

import pytest

from scaling.analysis.estimates import Estimate
from scaling.reporting.words import (
    Table,
    count,
    duration,
    estimate_facts,
    figure,
    interval_alone,
    json_text,
    long_duration,
    markdown_lines,
    memory,
    percent,
    share,
    text_lines,
    with_interval,
)


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (Estimate(0.05, 0.04, 0.07, 0.01), "5 % (4 % to 7 %)"),
        (Estimate(0.05, None, None), "5 %"),
        (Estimate(inf), "without limit"),
        (Estimate(inf, 0.5, inf), "above 50 %"),
        (Estimate(0.4, 0.3, inf), "40 % (30 % to any)"),
        (None, "-"),
    ],
)
def test_intervals_in_words(interval, words):
    assert with_interval(interval, percent) == words


def test_figures_are_rounded_as_people_write_them():
    assert [figure(value) for value in (0.01234, 12.345, 999.4, 999.6)] == ["0.0123", "12.3", "999", "1000"]
    assert [figure(value) for value in (1234.5, 1e12)] == ["1234", "1e+12"]


def test_a_count_agrees_with_its_noun():
    assert [count(number, "core") for number in (0, 1, 2)] == ["0 cores", "1 core", "2 cores"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (2.0, "2 s"),
        (0.0123, "12.3 ms"),
        (4.5e-6, "4.5 µs"),
        (7e-9, "7 ns"),
        (0.0, "0 ns"),
        (0.99996, "1 s"),
        (0.9999, "999.9 ms"),
        (9.9996e-4, "1 ms"),
        (9.9996e-7, "1 µs"),
        (9999.6, "10000 s"),
        (40050.0, "40050 s"),
    ],
)
def test_a_step_time_has_the_unit_that_fits_it(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((0, "0 s"), (0.0324, "32 ms"), (2.34, "2.3 s"), (9.96, "10 s"), (89, "89 s")),
        *((90, "2 min"), (5399, "90 min"), (5400, "1.5 h")),
    ],
)
def test_a_long_duration_is_rounded_as_a_person_says_it(seconds, words):
    assert long_duration(seconds) == words


def test_a_column_marked_so_is_set_to_the_right_and_headers_may_be_left_out():
    rows = [("a", "1"), ("bcd", "10")]
    assert text_lines(Table(("name", ">n"), rows)) == ["name   n", "a      1", "bcd   10"]
    assert text_lines(Table(("", ""), rows)) == ["a    1", "bcd  10"]


def test_other_words_may_stand_for_what_has_no_limit():
    assert with_interval(Estimate(6.0, 5.0, inf), figure, beyond="no limit") == "6 (5 to no limit)"
    assert with_interval(Estimate(inf, inf, inf), figure, beyond="no limit") == "no limit"
    assert with_interval(None, figure, beyond="no limit") == "no limit"
    assert with_interval(Estimate(inf, 30.0, inf), figure, beyond="beyond 32") == "beyond 32 (30 to beyond 32)"
    assert with_interval(Estimate(0.5, 0.4, 0.6), percent, beyond="no limit") == "50 % (40 % to 60 %)"


def test_an_interval_alone_is_its_two_ends():
    assert interval_alone(Estimate(0.5, 0.4, 0.6), figure) == "0.4–0.6"
    assert interval_alone(Estimate(0.5, 0.4, 0.6), figure, joint=" to ") == "0.4 to 0.6"
    assert interval_alone(Estimate(0.5), figure, unknown="-") == "-"
    assert interval_alone(None, figure) == ""


def test_scripts_read_nothing_for_what_is_unknown_or_without_limit():
    assert estimate_facts(Estimate(6.0, 5.0, inf)) == {"value": 6.0, "low": 5.0, "high": None}
    assert estimate_facts(None) == {"value": None, "low": None, "high": None}


def test_json_has_nothing_for_a_number_that_is_not_finite():
    assert json_text({"a": [inf, 1.5], "b": {"c": nan}}) == '{"a":[null,1.5],"b":{"c":null}}'


def test_shares_are_percentages_and_memory_is_in_powers_of_two():
    assert [share(ratio) for ratio in (0.0612, 1.0)] == ["6.1 %", "100.0 %"]
    assert [memory(size) for size in (3 << 28, 5 << 28)] == ["768 MiB", "1.25 GiB"]


def test_a_cell_of_markdown_is_text():
    table = Table(("workload", ">n"), [("a|`b`<script>&[c](d)\x1b[31m\N{RIGHT-TO-LEFT OVERRIDE}\n", "1")])
    assert markdown_lines(table)[2] == (r"| a&#124;&#96;b&#96;&#60;script>&#38;&#91;c](d)\x1b&#91;31m\u202e\n | 1 |")
