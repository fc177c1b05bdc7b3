import pytest

from scaling.study.keys import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("45s", 45),
        ("10m", 600),
        ("10min", 600),
        ("1h30m", 5400),
        ("1h 30m 5s", 5405),
        ("1.5 h", 5400),
        ("01:30:05", 5405),
        ("1:00:00", 3600),
        ("0", 0),
    ],
)
def test_a_duration_is_written_with_units_or_as_a_clock(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "soon", "-5m", "10 years", "1h30", "10 20", "5m1h", "1:30", "h", "1e3"])
def test_what_is_not_a_duration_is_refused(text):
    with pytest.raises(ValueError, match="is not a duration; write it such as 90s, 10m, 1h30m or 01:30:00"):
        parse_duration(text)
