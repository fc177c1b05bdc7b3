"""Files that the real tools wrote (tests/data/other_tools), and what can be wrong with one."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scaling.analysis.series import table_key
from scaling.errors import StoreError
from scaling.results.other_tools import AS_IT_IS, CoreCounts, TableOptions, is_tool_folder, read_table
from tests.mentions import mentions

DATA = Path(__file__).parents[2] / "data" / "other_tools"


def medians(path, **options):
    """The middle launch of every count of every series, in milliseconds."""
    series = read_table(path, replace(AS_IT_IS, **options)).series
    return {
        one.name: {
            int(seen.cores): 1000 * sorted(seen.launch_seconds)[len(seen.launch_seconds) // 2]
            for seen in one.observations
        }
        for one in series
    }


def written(tmp_path, document, name="file.json"):
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def hyperfine(*results):
    return {"results": [{"command": command, "times": [0.1, 0.2], **more} for command, more in results]}


def test_every_time_of_hyperfine_is_a_launch_of_the_command_with_its_parameter_in_place():
    table = read_table(DATA / "hyperfine.json", AS_IT_IS)
    assert [one.name for one in table.series] == [f"seq {n} | xargs -P {{cores}} -I@ sleep 0.05" for n in (4, 2)]
    assert [one.launches for one in table.series] == [(8, 8, 8)] * 2
    four, two = medians(DATA / "hyperfine.json").values()
    assert four == pytest.approx({1: 207, 2: 112, 4: 63}, rel=0.1)
    assert two == pytest.approx({1: 107, 2: 57, 4: 59}, rel=0.1)


def test_a_file_without_a_count_on_physical_cores_is_refused(tmp_path):
    path = written(tmp_path, "cores,seconds\n4,1\n8,1\n", "file.csv")
    with pytest.raises(StoreError, match=r"`physical=2` leaves no point of .*, whose fewest cores are 4;"):
        read_table(path, TableOptions(physical=2))


def test_a_file_says_once_what_it_does_not_know():
    (note,) = read_table(DATA / "hyperfine.json", AS_IT_IS).notes
    assert mentions(note, "hyperfine … CPUs … machine")


def test_a_process_of_pyperf_is_a_launch_and_counts_by_the_median_of_its_values():
    table = read_table(DATA / "pyperf.json", TableOptions(cores_from="threads"))
    (series,) = table.series
    assert (series.name, series.cores, series.launches) == ("naps", (1, 2, 4), (5, 5, 5))
    assert series.observations[0].launch_seconds[0] == pytest.approx(0.041403495)
    assert series.key == table_key("naps")


def test_a_folder_with_a_file_per_count_is_one_series():
    assert is_tool_folder(DATA / "pyperf-files")
    assert medians(DATA / "pyperf-files") == {"naps": pytest.approx({1: 97, 2: 54, 4: 38}, rel=0.1)}
    assert read_table(DATA / "pyperf-files", AS_IT_IS).series[0].launches == (4, 4, 4)


def test_threads_of_google_benchmark_make_iterations_side_by_side():
    (name,) = medians(DATA / "google-benchmark-nap.json")
    assert name.startswith("BM_nap/")
    assert medians(DATA / "google-benchmark-nap.json")[name] == pytest.approx({1: 10.1, 2: 5.05, 4: 2.53}, rel=0.02)


def test_later_versions_of_google_benchmark_report_the_time_of_one_thread(tmp_path):
    entry = {"name": "BM/threads:4", "run_type": "iteration", "threads": 4, "real_time": 8.0, "time_unit": "ms"}
    for version, milliseconds in (("v1.8.3", 8.0), ("v1.9.1", 2.0)):
        document = {"context": {"library_version": version}, "benchmarks": [entry]}
        assert medians(written(tmp_path, document)) == {"BM": {4: pytest.approx(milliseconds)}}


@pytest.mark.parametrize(("name", "options"), [("named", {}), ("plain", {}), ("plain", {"cores_from": "workers"})])
def test_the_count_of_google_benchmark_is_an_argument_with_or_without_a_name_or_a_counter(name, options):
    (times,) = medians(DATA / f"google-benchmark-{name}.json", **options).values()
    assert times == pytest.approx({1: 40.2, 2: 20.4, 4: 12.0}, rel=0.05)


def test_aggregates_and_errors_of_google_benchmark_are_no_runs(tmp_path):
    run = {"name": "BM/2", "run_type": "iteration", "threads": 1, "real_time": 5, "time_unit": "us"}
    mean = {**run, "name": "BM/2_mean", "run_type": "aggregate", "aggregate_name": "mean"}
    wrong = {**run, "error_occurred": True, "error_message": "no"}
    table = read_table(written(tmp_path, {"context": {}, "benchmarks": [run, mean, wrong]}), AS_IT_IS)
    assert table.series[0].observations[0].launch_seconds == (pytest.approx(5e-6),)
    assert mentions(table.notes, "left out: 1")
    with pytest.raises(StoreError, match="has aggregates only"):
        read_table(written(tmp_path, {"context": {}, "benchmarks": [mean]}), AS_IT_IS)


def test_a_value_that_stands_in_several_places_is_the_parameter_where_most_commands_have_it(tmp_path):
    commands = [(f"zstd -T{n} -b1 -i4", {"parameters": {"threads": str(n)}}) for n in (1, 2, 4)]
    assert list(medians(written(tmp_path, hyperfine(*commands)))) == ["zstd -T{cores} -b1 -i4"]


def test_other_parameters_tell_series_of_one_name_apart(tmp_path):
    results = [("sort", {"parameters": {"threads": n, "size": size}}) for n in (1, 2) for size in (10, 20)]
    assert list(medians(written(tmp_path, hyperfine(*results)))) == ["sort size=10", "sort size=20"]


def test_runs_that_failed_count_where_hyperfine_was_told_to_ignore_it(tmp_path):
    path = written(tmp_path, hyperfine(("grep", {"parameters": {"cores": 1}, "exit_codes": [1, 0]})))
    assert mentions(read_table(path, AS_IT_IS).notes, "exit status …: 1")


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        ("sort[threads=4]", "sort"),
        ("sort[size=9,threads=4]", "sort[size=9]"),
        ("sort[threads=4, size=9]", "sort[size=9]"),
        ("BM_sort/threads:4/real_time", "BM_sort/real_time"),
    ],
)
def test_a_parameter_in_a_name_is_taken_out_of_it(name, rest):
    assert CoreCounts(Path("x.json"), ("threads",)).in_name(name) == (rest, 4.0)


@pytest.mark.parametrize("name", ["sort", "subthreads=4", "threads=4x"])
def test_a_name_without_the_parameter_has_no_count(name):
    assert CoreCounts(Path("x.json"), ("threads",)).in_name(name) is None


WRONG = {
    "no count": (
        hyperfine(("sort", {})),
        r"'sort' has no parameter cores or threads; name the parameter .* `cores_from=`",
    ),
    "another name": (hyperfine(("sort", {"parameters": {"jobs": 2}})), r"\(it has jobs\)"),
    "a count that is none": (hyperfine(("sort", {"parameters": {"threads": "many"}})), "is 'many', but must be"),
    "a time that is none": (hyperfine(("sort", {"parameters": {"threads": 1}, "times": [0.0]})), "is not above 0"),
    "no runs": ({"results": []}, "has no run with a time"),
    "no values": ({"benchmarks": [{"metadata": {"name": "b[cores=1]"}, "runs": [{}]}]}, "has no run with a time"),
    "bytes": ({"benchmarks": [{"metadata": {"unit": "byte", "name": "b"}, "runs": []}]}, "is in bytes"),
    "an odd entry": (
        {"context": {}, "benchmarks": [{"run_type": "iteration"}]},
        "looks like JSON from Google Benchmark",
    ),
    "our own output": ({"schema": 1, "points": []}, "cannot be read back"),
    "something else": ([1, 2], "JSON of an unknown kind; pass JSON from hyperfine, Google Benchmark, pyperf"),
    "not JSON": ("{", "cannot be read as JSON"),
    "two arguments": (
        {"context": {}, "benchmarks": [{"name": "BM/4/8", "real_time": 1.0, "threads": 1}]},
        r"\(it has 4, 8\).*ArgNames",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, case):
    document, sentence = WRONG[case]
    with pytest.raises(StoreError, match=sentence) as refused:
        read_table(written(tmp_path, document), AS_IT_IS)
    assert "\n" not in str(refused.value)


def test_a_column_is_no_parameter_of_json():
    with pytest.raises(StoreError, match="`columns=` names a column"):
        read_table(DATA / "hyperfine.json", TableOptions(columns=(("cores", "threads"),)))


def test_the_count_of_a_csv_may_be_named_like_a_parameter(tmp_path):
    path = written(tmp_path, "threads,time\n1,2\n2,1\n", "times.csv")
    options = TableOptions("threads", (("seconds", "time"),))
    assert read_table(path, options).series[0].cores == (1, 2)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (
            {"results": [{"command": "x", "times": [5e-324], "parameters": {"threads": "1"}}]},
            "above 0",
        ),
        ('{"results": [{"times": [' + "9" * 5000 + "]}]}", "JSON: Exceeds the limit"),
    ],
)
def test_numbers_beyond_any_measurement_are_refused(tmp_path, document, why):
    with pytest.raises(StoreError, match=why):
        read_table(written(tmp_path, document), AS_IT_IS)


@pytest.mark.parametrize("name", ["rows.jsonl", "study.toml"])
def test_a_file_of_a_results_folder_is_refused_with_the_folder(tmp_path, name):
    for own in ("rows.jsonl", "study.toml"):
        written(tmp_path, "{}\n{}\n", own)
    with pytest.raises(StoreError, match=f"one file of a results folder; pass the folder {tmp_path}$"):
        read_table(tmp_path / name, AS_IT_IS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cores,throughput\n1,5e-324\n2,1\n", r"5e-324 .* above 0"),
        (f"cores,seconds\n1,{'x' * 140_000}\n2,1\n", "line 2"),
        (f"{'x' * 140_000}\n1\n", "line 1"),
    ],
)
def test_a_csv_with_fields_beyond_any_measurement_is_refused(tmp_path, text, why):
    with pytest.raises(StoreError, match=why):
        read_table(written(tmp_path, text, "file.csv"), AS_IT_IS)


def test_equal_times_are_rounded_ones_and_count_as_one_launch(tmp_path):
    path = tmp_path / "coarse.csv"
    path.write_text("cores,seconds\n1,2.02\n1,1.99\n2,1.1\n2,1.1\n4,0.65\n4,0.65\n")
    table = read_table(path, AS_IT_IS)
    assert [one.launch_seconds for one in table.series[0].observations] == [(2.02, 1.99), (1.1,), (0.65,)]
    assert table.notes[-1].startswith("equal times on 2, 4 cores count as one launch")
    path.write_text("cores,seconds\n1,2.02\n1,2.02\n2,1.1\n")
    assert read_table(path, AS_IT_IS).notes[-1].startswith("equal times on 1 core count as one launch")


LONG_NAME = f"BM{' ' * 200_000}[threads=4]"
TOO_LONG = {
    "hyperfine": {"results": [{"command": LONG_NAME, "times": [1.0], "parameters": {"threads": "1"}}]},
    "hyperfine parameter": {
        "results": [{"command": "x", "times": [1.0], "parameters": {"threads": "1", "x": LONG_NAME}}]
    },
    "Google Benchmark": {
        "context": {},
        "benchmarks": [{"name": LONG_NAME, "run_type": "iteration", "real_time": 1.0, "time_unit": "s"}],
    },
    "pyperf": {"benchmarks": [{"metadata": {"name": LONG_NAME}, "runs": [{"values": [1.0]}]}]},
}


@pytest.mark.parametrize("document", TOO_LONG.values(), ids=TOO_LONG)
def test_a_name_of_hundreds_of_thousands_of_characters_is_refused(tmp_path, document):
    with pytest.raises(StoreError, match=r"…' has 20.* characters, more than the 10000 of a name; shorten it"):
        read_table(written(tmp_path, document), AS_IT_IS)


@pytest.mark.parametrize("seconds", [1e-13, 1e10])
def test_a_time_that_no_clock_measures_is_refused(tmp_path, seconds):
    document = {"results": [{"command": "x", "times": [seconds], "parameters": {"threads": "1"}}]}
    with pytest.raises(StoreError, match="a time that is not above 0, from 1e-12 to 1e"):
        read_table(written(tmp_path, document), AS_IT_IS)
