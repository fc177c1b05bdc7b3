"""Exports of rows for other tools; CSV and JSON can be read back.

CSV and Parquet have one line per run, JSON the rows themselves. pyperf gets a benchmark per point, Extra-P a call path
per series (its JSON format: parameters, and measurements by call path and metric), both with counted launches only.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, asdict, fields
from functools import lru_cache
from io import StringIO
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import msgspec

from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.series import selected_series, series_key
from scaling.analysis.summary import select_points, summarize
from scaling.analysis.turns import Turn
from scaling.analysis.witness import Witness
from scaling.errors import OtherSchemaError, StoreError, excerpt, need
from scaling.machine.topology import Machine
from scaling.results.files import limited_lines, open_input, open_output, read_whole
from scaling.results.rows import (
    SCHEMA,
    Outcome,
    Pairs,
    Row,
    Sections,
    launch_of,
    launch_seconds,
    quiet_steps,
    requested_settings,
    row_from_facts,
    row_to_json,
    shared,
)
from scaling.study.axes import RESOLVED
from scaling.study.limits import LARGEST_FILE, LONGEST_LINE, LONGEST_ROW, MOST_COLUMNS
from scaling.study.planning import Point

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet", "json", "pyperf", "extrap", "markdown"]

# Nested fields and long texts, which a table leaves out.
NOT_IN_A_TABLE = (
    "sections",
    "truth",
    "stdout_tail",
    "stderr_tail",
    "items_per_step",
    "pack",
    "device_profile",
    "figures",
)

# Columns of lists besides `step_seconds`; a CSV has them as JSON.
LISTS = ("cautions", "turns")

# Text that a spreadsheet takes for a formula, also after apostrophes: it gets one more, which reading takes off.
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

# Every JSON writer prints numbers in this range without an exponent.
WITHOUT_EXPONENT = 1e-4, 1e15

# Columns of our own CSV, and the beginning of our own JSON.
OWN_COLUMNS = {"workload", "cores", "asked_intra", "median_seconds", "step_seconds", "machine_fingerprint"}
OWN_JSON = re.compile(r'\s*\{\s*("schema"\s*:\s*\d+\s*,\s*)?"rows"\s*:\s*\[')


class CsvLine(NamedTuple):
    """A run as a line of a table, with its columns."""

    columns: tuple[str, ...]
    line: bytes


def write_export(rows: Iterable[Row], form: Format, target: Path | BinaryIO) -> int:
    """Write rows to a file or an open stream, and return their number."""
    if form == "parquet":
        need("pyarrow", "parquet", "Parquet files")
    write = WRITERS[form](rows)
    if isinstance(target, Path):
        with open_output(target) as file:
            return write(file)
    return write(target)


# The steps of a launch are one field, which may exceed the default limit of csv.
csv.field_size_limit(LARGEST_FILE)


def is_export(path: Path) -> bool:
    """Whether `write_export` wrote a CSV or JSON."""
    try:
        with open_input(path) as file:
            head = file.readline(LONGEST_LINE)
            if head.lstrip()[:1] == "{":
                return OWN_JSON.match(head + file.read(256)) is not None
            return set(next(csv.reader([head]), ())) >= OWN_COLUMNS
    except (OSError, UnicodeDecodeError, csv.Error):
        return False


def read_export(path: Path) -> Iterator[Row]:
    """Read the rows of an exported file; a CSV has no environment and no output of the program."""
    try:
        with open_input(path) as file:
            is_json = file.read(256).lstrip()[:1] == "{"
        with open_input(path) as file:
            if is_json:
                rows = msgspec.json.decode(read_whole(file, path, LONGEST_ROW), type=_Document).rows
                yield from _read_rows(f"{path} row", enumerate(rows, 1), lambda facts: facts)
            else:
                lines = csv.DictReader(limited_lines(file, path, LARGEST_FILE), restval="")
                _refuse_unknown_columns(path, lines.fieldnames or ())
                yield from _read_rows(f"{path} line", enumerate(lines, 2), _row_facts)
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreError(
            f"{path} cannot be read: {why}; pass a results folder or a file that `scaling export` wrote"
        ) from error


class _Document(msgspec.Struct):
    """Our own JSON; every row has its schema."""

    rows: list[dict[str, Any]]


def _refuse_unknown_columns(path: Path, names: Sequence[str]) -> None:
    if len(names) > MOST_COLUMNS:
        raise StoreError(f"{path} has {len(names)} columns, more than {MOST_COLUMNS}; export it again")
    for name in names:
        if name and name not in COLUMNS and not name.startswith(VERSION):
            raise OtherSchemaError(
                f"{path} has the column '{excerpt(name)}', which this version does not know; remove it, or install the "
                "version of cpu-scaling that wrote it"
            )


def _read_rows(
    place: str, items: Iterable[tuple[int, Any]], facts_of: Callable[[Any], dict[str, Any]]
) -> Iterator[Row]:
    for number, item in items:
        try:
            yield row_from_facts(facts_of(item))
        except OtherSchemaError as error:
            raise StoreError(f"{place} {number} {error}") from error
        except (StoreError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise _not_exported(f"{place} {number}", error) from error


def _not_exported(place: str, error: Exception) -> StoreError:
    """The error for an unreadable row, in our words if Python's do not help."""
    why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    if isinstance(error, AttributeError | TypeError):
        why = "a field is empty or of another type"
    return StoreError(f"{place} is not a run that `scaling export` wrote: {why}; export it again")


def csv_line(row: Row) -> CsvLine:
    """A row as a line of a table."""
    flat = _flat(row)
    flat |= {name: json.dumps(flat[name]) if flat[name] else "[]" for name in LISTS}
    flat["step_seconds"] = _numbers_json(row.outcome.step_seconds)
    return CsvLine(shared(tuple(flat)), _csv_line(map(_harmless, flat.values())))


def _numbers_json(numbers: Sequence[float]) -> str:
    """Positive numbers as `json.dumps` writes them, usually in a third of the time."""
    least, most = WITHOUT_EXPONENT
    if numbers and least <= min(numbers) and max(numbers) < most:
        return _encode(numbers).decode().replace(",", ", ")
    return json.dumps(numbers)


_encode, _decode = msgspec.json.encode, msgspec.json.decode


def _csv_writer(rows: Iterable[CsvLine]) -> Callable[[BinaryIO], int]:
    """Make all lines first, so that a refused row leaves no partial table.

    Columns that only later rows have come last, and are empty in earlier lines.
    """
    columns: tuple[str, ...] = ()
    lines, widths = [], []
    for own, line in rows:
        if own == columns:
            lines.append(line)
        else:
            columns = tuple(dict.fromkeys((*columns, *own)))
            cells = dict(zip(own, next(csv.reader([line.decode()])), strict=True))
            lines.append(_csv_line(cells.get(name) for name in columns))
        widths.append(len(columns))

    def write(file: BinaryIO) -> int:
        file.write(_csv_line(columns) + b"\n")
        for line, width in zip(lines, widths, strict=True):
            file.write(line + b"," * (len(columns) - width) + b"\n")
        return len(lines)

    return write


def _harmless(cell: Any) -> Any:
    """A cell that no spreadsheet executes: text that may be a formula gets an apostrophe."""
    if not isinstance(cell, str) or not FORMULA.match(cell) or PLAIN_NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def _as_written(cell: str) -> str:
    """A cell without the apostrophe that it got."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def _csv_line(cells: Iterable[Any]) -> bytes:
    line = StringIO()
    csv.writer(line).writerow(cells)  # before Python 3.13, quotes only the line breaks that it ends lines with
    return line.getvalue().removesuffix("\r\n").encode()


def _parquet_writer(rows: Iterable[Row]) -> Callable[[BinaryIO], int]:
    columns = _columns(rows)

    def write(file: BinaryIO) -> int:
        try:
            data_frame(columns).to_parquet(file, index=False)
        except (OverflowError, ValueError, TypeError) as error:
            raise StoreError(f"Parquet cannot hold a value of a row: {error}; choose `form=csv`") from error
        return len(columns.get("cores", ()))

    return write


def _json_writer(rows: Iterable[Row]) -> Callable[[BinaryIO], int]:
    lines = [row_to_json(row) for row in rows]

    def write(file: BinaryIO) -> int:
        joined = ",\n".join(lines)
        file.write(f'{{"schema": {SCHEMA}, "rows": [\n{joined}\n]}}\n'.encode())
        return len(lines)

    return write


def _pyperf_writer(rows: Iterable[Row]) -> Callable[[BinaryIO], int]:
    """A pyperf suite of the counted launches: a benchmark per point, a process per launch."""
    by_launch = {(row.run.point, row.run.launch): row for row in rows}
    selection = select_points(summarize(map(launch_of, by_launch.values())))
    names = {series.key: series.name for series in selected_series(selection)}
    benchmarks = [
        {
            "metadata": {
                "name": f"{names.get(series_key(one.point)) or _limited_name(one.point)}[cores={one.point.cores}]",
                "unit": "second",
                "loops": 1,
            },
            "runs": [{"values": quiet_steps(by_launch[launch.point, launch.number])} for launch in one.used],
        }
        for one in selection.taken
    ]
    return _document_writer({"version": "1.0", "benchmarks": benchmarks}, len(selection.launches))


def _limited_name(point: Point) -> str:
    """The name of points outside of series: under a CPU quota, or of packs."""
    quota = [] if point.quota is None else [f"quota={point.quota:g}"]
    replicas = [] if point.replicas == 1 else [f"replicas={point.replicas}"]
    return " ".join([point.subject, point.placement, f"smt{point.smt}", *quota, *replicas])


def _extrap_writer(rows: Iterable[Row]) -> Callable[[BinaryIO], int]:
    """The seconds of counted launches by number of cores, for Extra-P."""
    selection = select_points(summarize(map(launch_of, rows)))
    measurements = {
        series.name.replace("->", "- >"): {
            "time": [{"point": [one.cores], "values": list(one.launch_seconds)} for one in series.observations]
        }
        for series in selected_series(selection)
    }
    return _document_writer({"parameters": ["cores"], "measurements": measurements}, len(selection.launches))


def _document_writer(document: dict[str, Any], runs: int) -> Callable[[BinaryIO], int]:
    if not runs:
        raise StoreError("there is nothing to export: no launch is usable; `form=csv` exports all runs")

    def write(file: BinaryIO) -> int:
        file.write(json.dumps(document, allow_nan=False, indent=1).encode() + b"\n")
        return runs

    return write


WRITERS: dict[str, Callable[[Iterable[Row]], Callable[[BinaryIO], int]]] = {
    "csv": lambda rows: _csv_writer(map(csv_line, rows)),
    "parquet": _parquet_writer,
    "json": _json_writer,
    "pyperf": _pyperf_writer,
    "extrap": _extrap_writer,
}


# Integer columns by which frames are joined.
WHOLE = ("cores", "smt")


def data_frame(facts: Any, without_rows: Sequence[str] = ()) -> "pd.DataFrame":
    """A data frame of columns or rows; without rows, it has the columns `without_rows`."""
    need("pandas", "report", "data frames")
    import pandas as pd  # only frames need it, and it takes a second to import

    frame = pd.DataFrame(facts)
    if len(frame) or not without_rows:
        return frame
    return pd.DataFrame({name: pd.Series(dtype="int64" if name in WHOLE else "object") for name in without_rows})


def rows_frame(rows: Iterable[Row]) -> "pd.DataFrame":
    """A data frame with one row per run."""
    return data_frame(_columns(rows))


def _columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """The table by columns, which takes far less memory than by rows; gaps become None."""
    columns: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        flat = _flat(row)
        for name, value in flat.items():
            if name not in columns:
                columns[name] = [None] * number
            columns[name].append(value)
        if len(flat) < len(columns):
            for name in columns.keys() - flat.keys():
                columns[name].append(None)
    return columns


def _flat(row: Row) -> dict[str, Any]:
    """A flat row under the names of its JSON, with a prefix if two parts share a name."""
    run, outcome = row.run, row.outcome
    return {
        **_flat_point(run.point),
        "items": outcome.items_per_step,
        "cpus": ",".join(map(str, chain.from_iterable(run.cpus))),
        "launch": run.launch,
        "seed": run.seed,
        "start": run.start,
        "cohort": run.cohort.name if run.cohort else None,
        "cohort_members": run.cohort.members if run.cohort else None,
        "median_seconds": launch_seconds(row),
        **_outcome_columns(outcome),
        "turns": tuple(map(_turn_columns, outcome.turns)),
        **({"pack": json.dumps(asdict(outcome.pack))} if outcome.pack else {}),
        **({"device_profile": json.dumps(asdict(outcome.device_profile))} if outcome.device_profile else {}),
        **({"figures": json.dumps([asdict(figure) for figure in outcome.figures])} if outcome.figures else {}),
        **_sections_columns(outcome.sections),
        **(_truth_columns(outcome.truth) if outcome.truth else _NO_TRUTH),
        **_witness_columns(row.witness),
        **_machine_columns(row.machine),
        **_flat_versions(row.versions),
        "started_at": row.started_at,
        **({"energy": json.dumps([asdict(meter) for meter in row.energy])} if row.energy else {}),
    }


def _columns_of(names: Iterable[str], form: str = "{}") -> Callable[[object], dict[str, Any]]:
    """A function that turns fields of a value into columns."""
    fields = tuple(names)
    columns, values = tuple(form.format(name) for name in fields), attrgetter(*fields)
    return lambda value: dict(zip(columns, values(value), strict=True))


_turn_columns, _witness_columns = _columns_of(Turn.__dataclass_fields__), _columns_of(Witness.__dataclass_fields__)
_outcome_columns = _columns_of(name for name in Outcome.__dataclass_fields__ if name not in NOT_IN_A_TABLE)
_sections_columns = _columns_of(Sections.__struct_fields__, "{}_seconds")
_point_columns = _columns_of(Point.__dataclass_fields__)
_machine_columns = _columns_of(Machine.__dataclass_fields__, "machine_{}")
_truth_columns = _columns_of(StatedTruth.__dataclass_fields__, "truth_{}")
# The beginning of the columns for versions of packages, and all other columns that a row may have.
VERSION = "version_"
COLUMNS = {
    *Point.__dataclass_fields__,
    *(f"asked_{name}" for name in RESOLVED),
    *("cpus", "launch", "seed", "start", "cohort", "cohort_members", "median_seconds", "started_at", "energy"),
    *(set(Outcome.__dataclass_fields__) - set(NOT_IN_A_TABLE)),
    *("pack", "device_profile", "figures"),
    *(f"{name}_seconds" for name in Sections.__struct_fields__),
    *(f"truth_{name}" for name in StatedTruth.__dataclass_fields__),
    *Witness.__dataclass_fields__,
    *(f"machine_{name}" for name in Machine.__dataclass_fields__),
}
_NO_TRUTH = {f"truth_{name}": None for name in StatedTruth.__dataclass_fields__}


# Rows of a folder share most of these parts.
@lru_cache(2**16)
def _flat_point(point: Point) -> dict[str, Any]:
    return {
        **_point_columns(point),
        **point.thread_counts,
        **{f"asked_{name}": str(value) for name, value in requested_settings(point).items()},
    }


@lru_cache(256)
def _flat_versions(versions: Pairs) -> dict[str, str]:
    return {f"{VERSION}{name}": value for name, value in versions}


def _row_facts(flat: dict[str, Any]) -> dict[str, Any]:
    """The facts of a row as in `rows.jsonl`, from a line of the table."""
    flat = {name: _as_written(text) or None for name, text in flat.items()}
    cpus, smt = [int(cpu) for cpu in flat["cpus"].split(",")], int(flat["smt"])
    asked = {
        name: flat[f"asked_{name}"] for name in RESOLVED if name != "pipeline_threads" or flat.get(f"asked_{name}")
    }
    outcome = {field.name: flat.get(field.name) for field in fields(Outcome) if field.name not in NOT_IN_A_TABLE}
    cohort = {"name": flat.get("cohort"), "members": flat.get("cohort_members")}
    sections = {field.encode_name: flat.get(f"{field.name}_seconds") for field in msgspec.structs.fields(Sections)}
    truth = {field.name: flat.get(f"truth_{field.name}") for field in fields(StatedTruth)}
    return {
        "schema": SCHEMA,
        "run": {
            # Exports by earlier versions lack newer settings, which all have defaults.
            **{
                field.name: flat.get(field.name) or (None if field.default is MISSING else field.default)
                for field in fields(Point)
            },
            "cpus": [cpus[first : first + smt] for first in range(0, len(cpus), smt)],
            **{name: flat[name] for name in ("launch", "seed", "start")},
            "cohort": cohort if cohort["name"] else None,
            "asked": {name: int(text) if text.isdecimal() else text for name, text in asked.items()},
        },
        "outcome": {
            **outcome,
            "step_seconds": _decode(flat["step_seconds"]),
            "cautions": _decode(flat["cautions"]),
            "turns": _decode(flat.get("turns") or "[]"),
            "items_per_step": flat["items"],
            "sections": sections,
            "pack": _decode(flat.get("pack") or "null"),
            "device_profile": _decode(flat.get("device_profile") or "null"),
            "figures": _decode(flat.get("figures") or "[]"),
            "truth": truth if any(truth.values()) else None,
            "stdout_tail": None,
            "stderr_tail": None,
        },
        "witness": {field.name: flat.get(field.name) for field in fields(Witness)},
        "machine": {field.name: flat[f"machine_{field.name}"] for field in fields(Machine)},
        "versions": {
            name.removeprefix(VERSION): text
            for name, text in flat.items()
            if name and name.startswith(VERSION) and text is not None
        },
        "started_at": flat["started_at"],
        "environment": {},
        "energy": _decode(flat.get("energy") or "[]"),
    }
