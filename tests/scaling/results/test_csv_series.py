import pytest

from scaling.errors import StoreError
from scaling.results.csv_series import read_csv_series
from tests.mentions import mentions


@pytest.fixture
def read(tmp_path):
    def reader(text):
        path = tmp_path / "mine.csv"
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        return read_csv_series(path)

    return reader


def complaint(read, text):
    with pytest.raises(StoreError) as refused:
        read(text)
    return str(refused.value)


def test_repeated_rows_are_launches(read):
    (series,) = read("cores,seconds\n2,0.6\n1,1.0\n1,1.1\n2,0.5\n")
    assert series.name == "mine"
    assert series.cores == (1.0, 2.0)
    assert [point.launch_seconds for point in series.observations] == [(1.0, 1.1), (0.6, 0.5)]


def test_throughput_is_turned_into_seconds(read):
    (series,) = read("cores,throughput\n1,4\n2,8\n")
    assert [point.launch_seconds for point in series.observations] == [(0.25,), (0.125,)]
    assert (series.unit, read("cores,seconds\n1,4\n")[0].unit) == ("units", "runs")


def test_one_core_count_is_enough_to_be_read(read):
    a, b = read("series,cores,seconds\na,1,2\na,2,1\nb,4,1\nb,4,1.1\n")
    assert (a.cores, b.cores, b.launches) == ((1.0, 2.0), (4.0,), (2,))


def test_rows_of_one_launch_are_its_steps(read):
    text = "cores,launch,seconds\n1,a,1\n1,a,9\n1,a,2\n1,b,3\n2,a,1\n"
    (series,) = read(text)
    assert [point.launch_seconds for point in series.observations] == [(2.0, 3.0), (1.0,)]


def test_series_are_kept_apart_in_their_order(read):
    series = read("series,cores,seconds\nb,1,1\na,1,2\nb,2,0.5\na,2,1.5\n")
    assert [one.name for one in series] == ["b", "a"]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffcores,seconds\r\n1,1\r\n2,0.5\r\n",
        "Cores;Seconds\n1;1\n2;0.5\n",
        " cores , seconds ,note\n1,1,x\n\n2,0.5,\n",
    ],
    ids=["bom and crlf", "semicolons", "spaces, a further column and an empty line"],
)
def test_other_tools_dialects_are_understood(read, text):
    (series,) = read(text)
    assert [point.launch_seconds for point in series.observations] == [(1.0,), (0.5,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1 is empty"),
        ("cores,seconds\n", "line 2: no row"),
        ("cores,seconds\n1,1\n2,abc\n", "line 3, column seconds: 'abc'"),
        ("cores,seconds\n1,1\ntwo,1\n", "line 3, column cores: 'two'"),
        ("cores,seconds\n1,1\n2,\n", "line 3, column seconds:"),
        ("cores,seconds\n1,1\n2,nan\n", "line 3, column seconds: … above 0"),
        ("cores,seconds\n1,1\n2,inf\n", "line 3, column seconds: … above 0"),
        ("cores,seconds\n1,0\n2,1\n", "line 2, column seconds: 0 is … above 0"),
        ("cores,throughput\n1,1\n2,-3\n", "line 3, column throughput: -3 … above 0"),
        ("cores,seconds\n0,1\n2,1\n", "line 2, column cores: 0 is … above 0"),
        ("cores,seconds\n1,1\n2\n", "line 3 has 1 field … 2"),
        ("cores,seconds,seconds\n1,1,1\n", "line 1 has column 'seconds' twice"),
        ("cores,seconds,throughput\n1,1,1\n", "line 1 has both columns 'seconds' and 'throughput'"),
        ("core,seconds\n1,1\n", "line 1 has no column 'cores' (it has core, seconds); did you mean 'core'?"),
        ("cores,time\n1,1\n", "line 1 has no column 'seconds' or 'throughput' (it has cores, time)"),
        ('cores,seconds\n1,1\n2,"0.5\n', "is not CSV"),
        (b"cores,seconds\n1,\xff\n", "text in UTF-8"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_what_cannot_be_understood_is_refused_in_one_sentence_that_says_where(read, text, words):
    sentence = complaint(read, text)
    assert mentions(sentence, words)
    assert "mine.csv" in sentence
    assert "\n" not in sentence


def test_a_file_that_is_not_there_is_said_to_be(tmp_path):
    with pytest.raises(StoreError, match=r"none\.csv .* read: No"):
        read_csv_series(tmp_path / "none.csv")


def test_a_hundred_thousand_rows_are_read_line_by_line(read):
    lines = "".join(f"{2 ** (row % 5)},{1.0 + row % 7 / 100}\n" for row in range(100_000))
    (series,) = read("cores,seconds\n" + lines)
    assert series.launches == (20_000,) * 5


def test_the_line_of_a_mistake_is_right_after_a_hundred_thousand(read):
    lines = "1,1\n2,0.5\n" * 50_000
    assert "line 100002, column seconds" in complaint(read, f"cores,seconds\n{lines}2,x\n")


def test_every_row_with_another_count_is_refused(read):
    lines = "".join(f"{row / 7},1\n" for row in range(1, 6000))
    assert "5999 different counts" in complaint(read, "cores,seconds\n" + lines)


def test_columns_of_other_names_are_mapped(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("Threads,wall time,throughput,program\n1,4,9,a\n2,2,9,a\n")
    columns = {"cores": "threads", "seconds": "Wall Time", "series": "program"}
    (series,) = read_csv_series(path, columns)
    assert (series.name, series.cores) == ("a", (1, 2))
    assert [one.launch_seconds for one in series.observations] == [(4.0,), (2.0,)]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"cores": "workers"}, "column 'workers' for cores;"),
        ({"core": "threads"}, "column core=…: no such column"),
        ({}, "name the column for cores with `columns=`"),
    ],
)
def test_columns_that_are_not_there_are_refused(tmp_path, columns, sentence):
    path = tmp_path / "mine.csv"
    path.write_text("threads,seconds\n1,4\n2,2\n")
    with pytest.raises(StoreError, match=sentence):
        read_csv_series(path, columns)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cores,seconds\n1,1e-13\n", "column seconds: 1e-13 is not a number above 0, from 1e-12 to 1e+09"),
        ("cores,seconds\n1,1e10\n", "column seconds: 1e10 is not a number above 0, from 1e-12 to 1e+09"),
        ("cores,throughput\n1,1e13\n", "column throughput: 1e13 is not a number above 0, from 1e-09 to 1e+12"),
        ("cores,seconds\n1e7,1\n", "column cores: 1e7 is not a number above 0, from 1e-06 to 1e+06"),
        (f"cores,seconds,series\n1,1,{'x' * 10_001}\n", "column series: a name has 10001 characters, more than 10000"),
        (f"cores,seconds{',x' * 60_000}\n1,1\n", "line 1 has 60002 columns, more than 1000; leave out unused ones"),
        ("cores,seconds\n" + "1" * 2**21, "line 2 is longer than 1 MiB"),
    ],
)
def test_what_is_beyond_the_limits_is_refused_with_the_limit(read, text, words):
    assert words in complaint(read, text)
