"""Series from other tools: JSON of hyperfine, pyperf and Google Benchmark, a folder of these files, or a CSV.

The content identifies the tool. Every run is a launch: a time of hyperfine, a repetition of Google Benchmark, or a
process of pyperf, by the median of its values. The number of cores is a parameter, in a different place for each tool.
A note says what no file shows: affinity, other load and the machine.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from scaling.analysis.estimates import are_equal
from scaling.analysis.series import Observation, Series, table_key, threads_on
from scaling.errors import StoreError, count, excerpt
from scaling.results.csv_series import read_csv_series
from scaling.results.files import OWN_FILES, has_results, open_input, read_whole
from scaling.study.limits import LEAST_CORES, LEAST_SECONDS, LONGEST_TEXT, MOST_CORES, MOST_SECONDS, is_time
from scaling.study.privacy import without_secrets

# Default names of the parameter for the number of cores.
USUAL_NAMES = ("cores", "threads")

# With more matches of a value in a command, its places are not guessed one by one.
MOST_PLACES = 4

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

# From this version on, Google Benchmark reports the time of an iteration of one thread (its pull request 1836). Earlier
# versions divide it by the number of threads.
WALL_TIME_PER_THREAD = (1, 9)

AGGREGATE = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options for reading another tool's file: the parameter for the number of cores, and a CSV's columns.

    Counts above `physical` are second threads of the same cores and are left out.
    """

    cores_from: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    physical: int | None = None


AS_IT_IS = TableOptions()


@dataclass(frozen=True, slots=True)
class Table:
    """The series of another tool's file, and notes about unknown facts."""

    series: tuple[Series, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A run of another tool: its name, cores and seconds."""

    name: str
    cores: float
    seconds: float


def is_tool_folder(path: Path) -> bool:
    """Whether a folder holds JSON files of other tools and no results of a sweep."""
    return path.is_dir() and not any((path / name).exists() for name in OWN_FILES) and bool(_tool_files(path))


def _tool_files(folder: Path) -> list[Path]:
    """The regular JSON files of a folder."""
    return [path for path in sorted(folder.glob("*.json")) if path.is_file()]


def read_table(path: Path, options: TableOptions) -> Table:
    """Read the series of a file or a folder of files, identified by content; refuse unknown files."""
    table = _equal_as_one(_read(path, options))
    if options.physical is None:
        return table
    series = tuple(threads_on(one, options.physical) for one in table.series)
    if not any(one.observations for one in series):
        fewest = min(cores for one in table.series for cores in one.cores)
        raise StoreError(
            f"`physical={options.physical}` leaves no point of {path}, whose fewest cores are {fewest:g}; pass the "
            "number of the machine's physical cores"
        )
    return replace(table, series=series)


def _equal_as_one(table: Table) -> Table:
    """Equal times of a core count as one launch: they were rounded, so their spread is unknown, not zero."""
    equal: list[float] = []

    def as_one(observation: Observation) -> Observation:
        if len(observation.launch_seconds) == 1 or not are_equal(observation.launch_seconds):
            return observation
        equal.append(observation.cores)
        return replace(observation, launch_seconds=observation.launch_seconds[:1], blocks=observation.blocks[:1])

    series = tuple(replace(one, observations=tuple(map(as_one, one.observations))) for one in table.series)
    counts = ", ".join(f"{cores:g}" for cores in sorted({*equal}))
    note = f"equal times on {count(counts, 'core')} count as one launch each, since they were rounded"
    return Table(series, (*table.notes, note)) if equal else table


def _read(path: Path, options: TableOptions) -> Table:
    if path.is_dir():
        return _read_files(path, _tool_files(path), options)
    if path.name in OWN_FILES and has_results(path.parent):
        raise StoreError(f"{path} is one file of a results folder; pass the folder {path.parent}")
    if _begins_as_json(path):
        return _read_files(path, [path], options)
    columns = ({"cores": options.cores_from} if options.cores_from else {}) | dict(options.columns)
    return Table(tuple(read_csv_series(path, columns)), (_note("a CSV"),))


def _begins_as_json(path: Path) -> bool:
    try:
        with open_input(path) as file:
            return file.read(256).lstrip()[:1] in ("{", "[")
    except (OSError, UnicodeDecodeError):
        return False  # the CSV reader reports the error


def _read_files(path: Path, files: Sequence[Path], options: TableOptions) -> Table:
    if options.columns:
        raise StoreError(
            f"`columns=` names a column of a CSV, but {path} is JSON; name the parameter for cores with `cores_from=`"
        )
    runs: list[ToolRun] = []
    notes: dict[str, None] = {}
    for file in files:
        counts = CoreCounts(file, (options.cores_from,) if options.cores_from else USUAL_NAMES, several=len(files) > 1)
        tool, file_runs, remarks = _read_json(file, counts)
        runs += file_runs
        notes |= dict.fromkeys((_note(f"a file of {tool}"), *remarks))
    return Table(tuple(_series_of(runs)), tuple(notes))


def _note(what: str) -> str:
    return f"{what} does not record CPUs, machine or other load, so every run counts and none is called disturbed"


def _series_of(runs: Iterable[ToolRun]) -> Iterator[Series]:
    by_name: dict[str, dict[float, list[float]]] = {}
    for run in runs:
        by_name.setdefault(without_secrets(run.name), {}).setdefault(run.cores, []).append(run.seconds)
    for name, counts in by_name.items():
        observations = tuple(Observation(cores, tuple(seconds)) for cores, seconds in sorted(counts.items()))
        yield Series(name, observations, "runs", key=table_key(name))


def _read_json(path: Path, counts: "CoreCounts") -> tuple[str, list[ToolRun], list[str]]:
    """The tool that wrote a file, its runs, and remarks about them."""
    facts = _parse(path)
    for tool, is_of, read in TOOLS:
        if isinstance(facts, dict) and is_of(facts):
            try:
                runs, remarks = read(facts, counts)
            except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
                why = f"{type(error).__name__}: {error}"
                raise StoreError(
                    f"{path} looks like JSON from {tool}, but cannot be read ({why}); pass the file as the tool wrote "
                    "it"
                ) from error
            if not runs:
                raise StoreError(f"{path}: the JSON from {tool} has no run with a time; measure again")
            return tool, runs, remarks
    raise StoreError(f"{path} is JSON of an unknown kind; {_advice(facts)}")


def _advice(facts: object) -> str:
    if isinstance(facts, dict) and "schema" in facts:
        return (
            "`--json` output cannot be read back; pass the results folder, or a file from "
            "`scaling export --format json`"
        )
    known = ", ".join(tool for tool, _, _ in TOOLS)
    return f"pass JSON from {known} or `scaling export --format json`"


def _parse(path: Path) -> object:
    try:
        with open_input(path) as file:
            return json.loads(read_whole(file, path))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        if isinstance(error, OSError):
            raise StoreError(f"{path} cannot be read: {error.strerror}; pass a file that can be read") from error
        raise StoreError(f"{path} cannot be read as JSON: {error}; pass the file as the tool wrote it") from error


@dataclass(frozen=True, slots=True)
class CoreCounts:
    """Finds the number of cores of a run in a file: among parameters, in a name, or in the name of the file."""

    path: Path
    names: tuple[str, ...]
    several: bool = False

    def among(self, parameters: Mapping[str, Any]) -> float | None:
        """The value of the first name that is a parameter."""
        value = next((parameters[name] for name in self.names if name in parameters), None)
        return None if value is None else self.number(value)

    def in_name(self, name: str) -> tuple[str, float] | None:
        """Split a name such as `sort[threads=4]` or `BM_sort/threads:4` into the rest and the value."""
        for parameter in self.names:
            match = re.search(rf"(?<![\w]){re.escape(parameter)}\s*[=:]\s*(\d+(?:\.\d+)?)(?![\w.])", name)
            if match:
                return _tidy(name[: match.start()] + name[match.end() :]), self.number(match[1])
        return None

    def in_file_name(self) -> float | None:
        """The number after the parameter in the file name or, with several files, the only number in it."""
        stem = self.path.stem
        named = [re.search(rf"(?<![a-z]){re.escape(name)}[=_. -]?(\d+)", stem, re.IGNORECASE) for name in self.names]
        numbers = [match[1] for match in named if match] or (re.findall(r"\d+", stem) if self.several else [])
        return self.number(numbers[0]) if len(numbers) == 1 else None

    def number(self, value: object) -> float:
        """Parse a number of cores."""
        try:
            cores = float(str(value))
        except ValueError:
            cores = 0.0
        if not LEAST_CORES <= cores <= MOST_CORES:
            names = " or ".join(self.names)
            raise StoreError(
                f"{self.path}: {names} is '{excerpt(str(value))}', but must be a number above 0, at most {MOST_CORES:g}"
            )
        return cores

    def name(self, value: object) -> str:
        """A name or another text of a run."""
        text = str(value)
        if len(text) > LONGEST_TEXT:
            raise StoreError(
                f"{self.path}: '{excerpt(text)}' has {len(text)} characters, more than the {LONGEST_TEXT} of a name; "
                "shorten it"
            )
        return text

    def refuse(self, name: str, there: Iterable[str], remedy: str) -> StoreError:
        """The error for a run without a number of cores."""
        has = f" (it has {', '.join(sorted(there))})" if there else ""
        return StoreError(
            f"{self.path}: '{name}' has no parameter {' or '.join(self.names)}{has}; name the parameter for the number "
            f"of cores with `cores_from=`, or {remedy}"
        )


def _tidy(name: str) -> str:
    """Remove the punctuation left behind by a removed parameter."""
    for left, whole in (
        (r"([\[({])\s*[,;]\s*", r"\1"),
        (r"(?<!\s)\s*[,;]\s*([\])}])", r"\1"),
        (r"\[\s*\]|\(\s*\)|\{\s*\}", ""),
    ):
        name = re.sub(left, whole, name)
    return re.sub(r"/{2,}", "/", name).strip().rstrip("/").strip()


def _seconds(values: object, what: str) -> list[float]:
    """Parse times above 0."""
    seconds = [float(value) for value in values] if isinstance(values, list) else []
    if not all(map(is_time, seconds)):
        raise ValueError(
            f"{excerpt(what)} has a time that is not above 0, from {LEAST_SECONDS:g} to {MOST_SECONDS:g} s"
        )
    return seconds


@dataclass(frozen=True, slots=True)
class _Command:
    """A result of hyperfine: its command with parameters filled in, the parameters, and its times."""

    text: str
    cores: float
    value: str
    others: tuple[tuple[str, str], ...]
    times: tuple[float, ...]


def _is_hyperfine(facts: Mapping[str, Any]) -> bool:
    results = facts.get("results")
    return isinstance(results, list) and all(isinstance(one, dict) and "command" in one for one in results)


def _read_hyperfine(facts: Mapping[str, Any], counts: CoreCounts) -> tuple[list[ToolRun], list[str]]:
    """The runs of `hyperfine --export-json`: the times of a result or, without times, its mean."""
    commands = [_command(result, counts) for result in facts["results"]]
    runs = [
        ToolRun(name, command.cores, seconds)
        for command, name in zip(commands, _command_names(commands), strict=True)
        for seconds in command.times
    ]
    failed = sum(status != 0 for result in facts["results"] for status in result.get("exit_codes") or ())
    return runs, [f"runs with a nonzero exit status are included: {failed}"] if failed else []


def _command(result: Mapping[str, Any], counts: CoreCounts) -> _Command:
    text, parameters = counts.name(result["command"]), dict(result.get("parameters") or {})
    name = next((name for name in counts.names if name in parameters), None)
    cores = counts.in_file_name() if name is None else counts.number(parameters[name])
    if cores is None:
        raise counts.refuse(text, parameters, "measure with hyperfine -P threads 1 8 '… {threads}'")
    others = tuple((counts.name(key), counts.name(value)) for key, value in sorted(parameters.items()) if key != name)
    times = _seconds(result.get("times"), text) or _seconds([result["mean"]], text)
    return _Command(text, cores, f"{cores:g}" if name is None else counts.name(parameters[name]), others, tuple(times))


def _command_names(commands: Sequence[_Command]) -> list[str]:
    """A name shared by the commands of a series, with the parameter in the place most of them agree on."""
    chosen = _most_shared([_templates(command) for command in commands], [command.cores for command in commands])
    varied = Counter(name for name, _ in {(name, one.others) for name, one in zip(chosen, commands, strict=True)})
    return [
        " ".join([name, *(f"{key}={value}" for key, value in one.others)]) if varied[name] > 1 else name
        for name, one in zip(chosen, commands, strict=True)
    ]


def _most_shared(possible: Sequence[Sequence[str]], cores: Sequence[float]) -> list[str]:
    """For every run, the possible name shared by the most core counts; the first on ties."""
    counts: dict[str, set[float]] = defaultdict(set)
    for names, number in zip(possible, cores, strict=True):
        for name in names:
            counts[name].add(number)
    return [max(names, key=lambda name: len(counts[name])) for names in possible]


PLACE = "{cores}"


def _templates(command: _Command) -> list[str]:
    """The command with each subset of the matches of its value replaced, the largest subsets first."""
    matches = re.finditer(rf"(?<!\d)(?<!\d\.){re.escape(command.value)}(?!\d|\.\d)", command.text)
    places = [match.span() for match in matches]
    if len(places) > MOST_PLACES:
        return [_fill(command.text, places), command.text]
    chosen = [some for number in range(len(places), -1, -1) for some in combinations(places, number)]
    return [_fill(command.text, some) for some in chosen]


def _fill(text: str, places: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(places):
        text = text[:start] + PLACE + text[end:]
    return text


def _is_google_benchmark(facts: Mapping[str, Any]) -> bool:
    return isinstance(facts.get("benchmarks"), list) and isinstance(facts.get("context"), dict)


def _read_google_benchmark(facts: Mapping[str, Any], counts: CoreCounts) -> tuple[list[ToolRun], list[str]]:
    """The runs of `--benchmark_format=json`: its repetitions, with the time per iteration of all threads."""
    entries = [entry for entry in facts["benchmarks"] if _is_repetition(entry)]
    if facts["benchmarks"] and not entries:
        raise StoreError(f"{counts.path} has aggregates only; leave out --benchmark_report_aggregates_only")
    wrong = [entry for entry in entries if entry.get("error_occurred")]
    version = tuple(map(int, re.findall(r"\d+", str(facts["context"].get("library_version", "")))[:2]))
    good = [entry for entry in entries if not entry.get("error_occurred")]
    threaded = any(entry.get("threads", 1) != 1 for entry in good)
    parsed = [_iteration(entry, counts, threaded, per_thread=version >= WALL_TIME_PER_THREAD) for entry in good]
    names = _most_shared([possible for possible, _ in parsed], [run.cores for _, run in parsed])
    runs = [replace(run, name=name) for name, (_, run) in zip(names, parsed, strict=True)]
    remarks = [f"runs with an error are left out: {len(wrong)}"] if wrong else []
    if any(entry.get("repetition_index") for entry in good):
        remarks.append("repetitions come from one process, so they vary less than launches of a program")
    return runs, remarks


def _is_repetition(entry: Mapping[str, Any]) -> bool:
    if "run_type" in entry:
        return bool(entry["run_type"] == "iteration")
    return not AGGREGATE.search(entry["name"])


def _iteration(
    entry: Mapping[str, Any], counts: CoreCounts, threaded: bool, per_thread: bool
) -> tuple[list[str], ToolRun]:
    """A repetition and its possible names."""
    name = counts.name(entry.get("run_name", entry["name"]))
    threads = entry.get("threads", 1) if per_thread else 1
    (seconds,) = _seconds([entry["real_time"] * UNITS[entry.get("time_unit", "ns")] / threads], name)
    parameters = {key: value for key, value in entry.items() if threaded or key != "threads"}
    named, counter = counts.in_name(name), counts.among(parameters)
    if named is not None:
        return [named[0]], ToolRun(*named, seconds)
    if counter is not None:
        without = "/".join(part for part in name.split("/") if part != f"{counter:g}")
        return [name, without], ToolRun(name, counter, seconds)
    run = replace(_by_argument(name, counts), seconds=seconds)
    return [run.name], run


def _by_argument(name: str, counts: CoreCounts) -> ToolRun:
    """The run with its cores from the only unnamed argument, as in `BM_sort/4`, or from the file name."""
    parts = name.split("/")
    numbers = [index for index, part in enumerate(parts) if index and part.isdecimal()]
    if len(numbers) == 1:
        rest = "/".join(part for index, part in enumerate(parts) if index != numbers[0])
        return ToolRun(rest, counts.number(parts[numbers[0]]), 0.0)
    cores = counts.in_file_name()
    if cores is None:
        arguments = [part for part in parts[1:] if re.search(r"\d", part)]
        raise counts.refuse(name, arguments, 'name the argument with ->ArgNames({"threads"})')
    return ToolRun(name, cores, 0.0)


def _is_pyperf(facts: Mapping[str, Any]) -> bool:
    benchmarks = facts.get("benchmarks")
    return isinstance(benchmarks, list) and all(isinstance(one, dict) and "runs" in one for one in benchmarks)


def _read_pyperf(facts: Mapping[str, Any], counts: CoreCounts) -> tuple[list[ToolRun], list[str]]:
    """The runs of pyperf: processes with values, without the calibrating ones."""
    runs = []
    for benchmark in facts["benchmarks"]:
        about = {**facts.get("metadata", {}), **benchmark.get("metadata", {})}
        if about.get("unit", "second") != "second":
            raise StoreError(f"{counts.path}: '{about.get('name')}' is in {about['unit']}s; only times can be read")
        name = counts.name(about.get("name", counts.path.stem))
        for run in benchmark["runs"]:
            values = _seconds(run.get("values"), name)
            if values:
                runs.append(_process(name, {**about, **run.get("metadata", {})}, median(values), counts))
    return runs, []


def _process(name: str, about: Mapping[str, Any], seconds: float, counts: CoreCounts) -> ToolRun:
    named = counts.in_name(name)
    cores = counts.among(about) or (named[1] if named else counts.in_file_name())
    if cores is None:
        raise counts.refuse(
            name,
            (),
            "name the benchmark bench[threads=4], put the number into its metadata, or pass a folder with one file per "
            "count",
        )
    return ToolRun(named[0] if named else name, cores, seconds)


# Tools by name, with a check of the file and its reader.
Check = Callable[[Mapping[str, Any]], bool]
Reader = Callable[[Mapping[str, Any], CoreCounts], tuple[list[ToolRun], list[str]]]
TOOLS: tuple[tuple[str, Check, Reader], ...] = (
    ("hyperfine", _is_hyperfine, _read_hyperfine),
    ("Google Benchmark", _is_google_benchmark, _read_google_benchmark),
    ("pyperf", _is_pyperf, _read_pyperf),
)
