from scaling.reporting.plots.style import ems, on_one_line, wrap


def test_a_short_name_stays_as_it_is():
    assert wrap("alexnet train", 20) == "alexnet train"


def test_a_long_name_is_broken_at_spaces_and_where_there_are_none_anywhere():
    assert wrap("one two three four", 6.7) == "one two\nthree four"
    assert wrap("a" * 25, 6.7, lines=4) == "\n".join(["a" * 10, "a" * 10, "a" * 5])


def test_a_name_that_is_too_long_loses_its_middle_and_keeps_its_end():
    text = wrap("word " * 50 + "the end", 10.0)
    assert text.count("\n") == 2
    assert "\n… " in text
    assert text.endswith("the end")
    assert all(ems(line) <= 10.0 for line in text.split("\n"))


def test_what_no_file_can_hold_is_shown_by_escape():
    assert on_one_line("a\nb\x00c\ud800 d\uffff") == r"a b\x00c\ud800 d\uffff"


def test_a_number_and_its_percent_sign_stay_on_one_line():
    assert wrap("spread 28.6 %, drift -73 %", 15.5) == "spread 28.6 %, drift\n-73 %"
