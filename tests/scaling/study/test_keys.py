import pytest

from scaling.errors import StudyError
from scaling.study.keys import parse_duration, quotas
from scaling.study.limits import LONGEST_TOML
from scaling.study.spec import study_from_toml


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


@pytest.mark.parametrize(
    "text", ["1h" + " " * 300_000, "9" * 400, " 1 " + "s" * 300_000], ids=["blanks", "digits", "s"]
)
def test_a_duration_of_many_characters_is_refused_in_a_short_sentence(text):
    with pytest.raises(
        ValueError, match=r"is (longer than the 100 characters of a duration|not a duration)"
    ) as refused:
        parse_duration(text + "x")
    assert len(str(refused.value)) < 250


ABSURD = {
    "many keys": "\n".join(f"x{number} = 1" for number in range(50_000)),
    "open brackets": "workloads = " + "[" * 100_000,
    "nested lists": "workloads = " + "[" * 3000 + "]" * 3000,
    "nested tables": "workloads = " + "{a = " * 3000 + "1" + "}" * 3000,
    "a key of many parts": "workloads." + ".".join("a" * 50_000) + " = 1",
    "a table of many parts": f"[{'.'.join('a' * 50_000)}]",
    "a number of many digits": f"workloads = 1\nlaunches = {'9' * 5000}\nthreshold_seconds = {'9' * 5000}",
    "a hexadecimal number": f"workloads = 1\nlaunches = 0x{'f' * 9999}\nthreshold_seconds = 0x{'f' * 9999}",
    "a long text": f'size = "{"x" * (LONGEST_TOML - 100)}"\naddress = "{"x" * 50}"',
    "more than is read": "#" * (LONGEST_TOML + 1),
    "a key that steers a terminal": '"\\u001b[2J" = 1',
}


@pytest.mark.parametrize("text", ABSURD.values(), ids=ABSURD)
def test_a_toml_beyond_what_anybody_writes_is_refused_in_one_short_sentence(text):
    with pytest.raises(StudyError) as refused:
        study_from_toml(text, "source")
    assert len(str(refused.value)) < 500
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("setting", [f"launches={'9' * 5000}", f"cores={'[' * 5000}", f"seed=0x{'f' * 9999}"])
def test_a_setting_beyond_what_anybody_writes_is_refused_in_one_short_sentence(setting):
    with pytest.raises(StudyError) as refused:
        study_from_toml('workloads = ["calibrated"]', "source", [setting])
    assert len(str(refused.value)) < 400


def test_a_quota_may_be_in_thousandths_of_a_cpu():
    assert quotas(["1500m", 0.5, "none"]) == [1.5, 0.5, "none"]
