"""Series from a plain CSV of any tool: `cores` with `seconds` or `throughput`, optionally `series` and `launch`.

Repeated rows are launches. Rows that share a `launch` are its steps, and their median counts. Errors name line and
column. Reading line by line makes a million rows affordable.
"""

import csv
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from statistics import median

from scaling.analysis.series import Observation, Series, table_key
from scaling.errors import StoreError, count, excerpt
from scaling.results.files import limited_lines, open_input
from scaling.study.limits import (
    LEAST_CORES,
    LEAST_SECONDS,
    LONGEST_LINE,
    LONGEST_TEXT,
    MOST_COLUMNS,
    MOST_CORES,
    MOST_SECONDS,
)

KNOWN = ("cores", "seconds", "throughput", "series", "launch")
# A column with more different values than this does not hold core counts.
MOST_COUNTS = 5000

# The least and the most of a column.
RANGES = {
    "cores": (LEAST_CORES, MOST_CORES),
    "seconds": (LEAST_SECONDS, MOST_SECONDS),
    "throughput": (1 / MOST_SECONDS, 1 / LEAST_SECONDS),
}

_Counts = dict[float, dict[str, list[float]]]


def read_csv_series(path: Path, columns: Mapping[str, str] | None = None) -> list[Series]:
    """Read the series of a CSV in order of appearance; `columns` maps our names to column names."""
    try:
        with open_input(path) as file:
            return _Reader(path, columns or {}).series(limited_lines(file, path, LONGEST_LINE))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}; pass a CSV or a results folder") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} is not text in UTF-8 (byte {error.start}); save it as CSV in UTF-8") from error


class _Reader:
    """One pass over a file, which keeps the line number for errors."""

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self.path = path
        self.called = {name.strip().lower(): column.strip().lower() for name, column in columns.items()}
        for name in self.called:
            if name not in KNOWN:
                raise StoreError(f"column {name}=…: no such column is read; choose from {', '.join(KNOWN)}")
        self.line = 1

    def series(self, lines: Iterator[str]) -> list[Series]:
        header = next(lines, "")
        if not header.strip():
            raise StoreError(f"{self.path} line 1 is empty; it needs a header with cores and seconds or throughput")
        delimiter = max(",;\t", key=header.count)
        if header.count(delimiter) >= MOST_COLUMNS:
            has = header.count(delimiter) + 1
            raise StoreError(f"{self.path} line 1 has {has} columns, more than {MOST_COLUMNS}; leave out unused ones")
        try:
            names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter))]
        except csv.Error as error:
            raise StoreError(f"{self.path} line 1 is not CSV: {error}; correct that line") from error
        columns = self._columns(names)
        values_by_series = self._read_values(csv.reader(lines, delimiter=delimiter, strict=True), columns, len(names))
        if not values_by_series:
            raise StoreError(f"{self.path} line 2: no row follows the header; add a row for every launch")
        return [self._one_series(name or self.path.stem, counts, columns) for name, counts in values_by_series.items()]

    def _columns(self, names: list[str]) -> dict[str, int]:
        for name in names:
            if names.count(name) > 1:
                raise StoreError(f"{self.path} line 1 has column '{name}' twice; keep one of them")
        for name, column in self.called.items():
            if column not in names:
                raise StoreError(f"{self.path} line 1 has no column '{column}' for {name}; it has {', '.join(names)}")
        calls = {name: self.called.get(name, name) for name in KNOWN}
        if len({"seconds", "throughput"} & self.called.keys()) == 1:
            calls.pop("throughput" if "seconds" in self.called else "seconds")
        columns = {name: names.index(column) for name, column in calls.items() if column in names}
        if "cores" not in columns:
            raise StoreError(self._missing("cores", names))
        if "seconds" in columns and "throughput" in columns:
            raise StoreError(
                f"{self.path} line 1 has both columns 'seconds' and 'throughput'; keep the one that was measured"
            )
        if "seconds" not in columns and "throughput" not in columns:
            raise StoreError(self._missing("seconds' or 'throughput", names))
        return columns

    def _missing(self, wanted: str, names: list[str]) -> str:
        near = [match for name in wanted.split("' or '") for match in get_close_matches(name, names, 1)]
        first = wanted.partition("'")[0]
        asked = f"did you mean '{near[0]}'? " if near else ""
        hint = f"; {asked}name the column for {first} with `columns=`"
        return f"{self.path} line 1 has no column '{wanted}' (it has {', '.join(names)}){hint}"

    def _read_values(self, rows: Iterator[list[str]], columns: dict[str, int], width: int) -> dict[str, _Counts]:
        """Values by series, cores and launch; without a `launch` column, all launches are in one list."""
        values: dict[str, _Counts] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
        cores_at, name_at, launch_at = columns["cores"], columns.get("series"), columns.get("launch")
        value_name = "seconds" if "seconds" in columns else "throughput"
        value_at, seen_cores = columns[value_name], dict[str, float]()
        for row in self._rows(rows, width):
            text = row[cores_at]
            if text not in seen_cores:
                seen_cores[text] = self._positive(text, "cores")
            name = "" if name_at is None else self._name(row[name_at].strip())
            launch = "" if launch_at is None else row[launch_at].strip()
            values[name][seen_cores[text]][launch].append(self._positive(row[value_at], value_name))
        return values

    def _rows(self, rows: Iterator[list[str]], width: int) -> Iterator[list[str]]:
        reader = rows
        try:
            for row in rows:
                self.line = reader.line_num + 1  # type: ignore[attr-defined]
                if len(row) != width:
                    if not any(map(str.strip, row)):
                        continue
                    raise StoreError(
                        f"{self.path} line {self.line} has {count(len(row), 'field')} but the header has {width}; fill "
                        "in every column"
                    )
                yield row
        except csv.Error as error:
            raise StoreError(f"{self.path} line {self.line + 1} is not CSV: {error}; correct that line") from error

    def _name(self, text: str) -> str:
        if len(text) > LONGEST_TEXT:
            raise StoreError(
                f"{self.path} line {self.line}, column series: a name has {len(text)} characters, more than "
                f"{LONGEST_TEXT}; shorten it"
            )
        return text

    def _positive(self, text: str, column: str) -> float:
        """Parse a number above 0, or raise an error with its place."""
        where = f"{self.path} line {self.line}, column {column}:"
        try:
            value = float(text)
        except ValueError:
            what = "the field is empty" if not text.strip() else f"'{excerpt(text.strip())}' is not a number"
            raise StoreError(f"{where} {what}; write a number above 0 or remove the line") from None
        least, most = RANGES[column]
        if not least <= value <= most:
            raise StoreError(
                f"{where} {excerpt(text.strip())} is not a number above 0, from {least:g} to {most:g}; correct it or "
                "remove the line"
            )
        return value

    def _one_series(self, name: str, counts: _Counts, columns: Collection[str]) -> Series:
        if len(counts) > MOST_COUNTS:
            raise StoreError(
                f"{self.path} column cores: series '{name}' has {len(counts)} different counts; at most {MOST_COUNTS} "
                "can be fitted, so round them"
            )
        has_throughput = "throughput" in columns
        observations = []
        for cores, launches in sorted(counts.items()):
            values = [median(steps) for steps in launches.values()] if "launch" in columns else launches[""]
            seconds = [1.0 / value for value in values] if has_throughput else values
            observations.append(Observation(cores, tuple(seconds)))
        return Series(name, tuple(observations), "units" if has_throughput else "runs", key=table_key(name))
