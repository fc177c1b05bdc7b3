"""The rows of the first series of a folder, as many as a page can show, without holding all of them. Pure."""

from collections.abc import Iterable
from itertools import accumulate

from scaling.analysis.series import series_key
from scaling.analysis.summary import table_order
from scaling.results.rows import Row
from scaling.study.planning import Point

# After so many rows those of series that are too many are dropped.
OFTEN = 2**12


class FirstSeries:
    """Whole series in the order of tables, up to so many points; SMT levels of the same settings stay together."""

    def __init__(self, most_points: int) -> None:
        self._most = most_points
        self._rows: dict[Point, list[Row]] = {}
        self._points: dict[Point, set[Point]] = {}
        self._dropped: set[Point] = set()

    def keep(self, rows: Iterable[Row]) -> Iterable[Row]:
        """The rows of the first series, in their order in each."""
        for number, row in enumerate(rows):
            settings = series_key(row.run.point).settings
            assert settings is not None
            self._points.setdefault(settings, set()).add(row.run.point)
            if settings not in self._dropped:
                self._rows.setdefault(settings, []).append(row)
            if number % OFTEN == 0:
                self._drop()
        self._drop()
        return (row for own in self._rows.values() for row in own)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out and where it is; nothing where all is kept."""
        if not self._dropped:
            return ()
        kept, points = (sum(len(self._points[one]) for one in series) for series in (self._rows, self._points))
        return (
            f"this page has the first {len(self._rows)} of {len(self._points)} series, {kept} of {points} points; "
            "`scaling report --where KEY=VALUE` makes one of others, `scaling show` lists all points",
        )

    def _drop(self) -> None:
        """Drop series beyond the limit: the points before them are never fewer later on, so that none is missed."""
        order = sorted(self._rows, key=table_order)
        totals = accumulate(len(self._points[settings]) for settings in order)
        beyond = [settings for settings, total in zip(order, totals, strict=True) if total > self._most]
        for settings in beyond if beyond != order else beyond[1:]:
            del self._rows[settings]
            self._dropped.add(settings)
