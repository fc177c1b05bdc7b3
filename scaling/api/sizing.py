"""Fits, answers and limits of the library: values by series, with data frames."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from scaling.analysis.curves.fit import SeriesFit, by_settings, fit_all
from scaling.analysis.estimates import Estimate
from scaling.analysis.series import SeriesKey, series_key, series_settings, table_point
from scaling.analysis.sizing.answers import size_answers
from scaling.analysis.sizing.levels import levels_of
from scaling.analysis.sizing.question import Answer, Goal, Question, ScalingLimits
from scaling.analysis.sizing.sizes import Price
from scaling.analysis.step_times import FARTHEST
from scaling.api.sources import Source, read_all
from scaling.errors import FitError, count, grouped
from scaling.reporting.answers import size_sentence
from scaling.reporting.capacity import answer_facts, answer_sentence, answers_table, limits_facts, limits_table
from scaling.reporting.deployment import Deployment
from scaling.reporting.fits import DESCRIPTION_WORDS, fit_sentence, fits_table
from scaling.reporting.shown import Shown
from scaling.reporting.words import Block, percent, share
from scaling.results.export import data_frame
from scaling.study.keys import parse_duration
from scaling.study.limits import LEAST_AMOUNT, MOST_AMOUNT, is_amount

if TYPE_CHECKING:
    import pandas as pd

    from scaling.reporting.plots.figure import Figure

# Columns that name a series in a data frame.
Columns = Mapping[str, object]
BySeries = TypeVar("BySeries", "Fits", "Answers", "Limits")
Sized = TypeVar("Sized", bound=Answer | ScalingLimits)


@dataclass(frozen=True, slots=True, repr=False)
class Fit(Shown):
    """The curve of a series, its estimates, and how well a law describes it."""

    series_fit: SeriesFit

    @property
    def label(self) -> str:
        """The name of the series."""
        return self.series_fit.series.label

    @property
    def curve(self) -> "pd.DataFrame":
        """One row per number of cores, up to twice the largest measured: speedup and efficiency with intervals."""
        return data_frame(
            {"cores": point.cores, **_columns("speedup", point.speedup), **_columns("efficiency", point.efficiency)}
            for point in self.series_fit.curve
        )

    @property
    def measured(self) -> tuple[float, ...]:
        """The measured core counts."""
        return self.series_fit.counts

    @property
    def law(self) -> str:
        """The best law: 'amdahl', 'usl' or 'gustafson'."""
        return self.series_fit.law.value

    @property
    def description(self) -> str:
        """How well the law describes the series: 'exactly', 'closely', 'roughly' or 'not at all'."""
        return DESCRIPTION_WORDS[self.series_fit.description]

    @property
    def described_within(self) -> float | None:
        """The largest distance of the curve from the law, 0.07 for 7 %; None with fewer than three counts."""
        return self.series_fit.described_within

    @property
    def serial_fraction(self) -> Estimate | None:
        """The serial fraction of the law; None if the law does not describe the series.

        With fewer than three core counts, the Karp-Flatt metric of the most cores.
        """
        return self.series_fit.serial_fraction

    @property
    def coherency(self) -> Estimate | None:
        """The coherency of the universal scalability law; None for another law."""
        return self.series_fit.coherency

    @property
    def rate_at_1(self) -> Estimate:
        """Items per second on one core."""
        return self.series_fit.rate_at_1

    @property
    def limit(self) -> Estimate:
        """The largest speedup on any number of cores; infinite without a limit."""
        return self.series_fit.speedup_limit

    def _block(self) -> Block:
        return Block(sentences=[fit_sentence(self.series_fit)], table=fits_table([self.series_fit]))

    def _figure(self) -> "Figure | None":
        return _curves([self.series_fit])


class Fits(Shown, Mapping[str, Fit]):
    """Fits by the label of their series; a unique prefix is enough.

    `notes` name what is left out; `columns` name the series in a data frame.
    """

    def __init__(
        self, fits: Sequence[SeriesFit], notes: Sequence[str] = (), columns: Sequence[Columns] | None = None
    ) -> None:
        self.series_fits = tuple(fits)
        self.notes = tuple(notes)
        self.columns = [{"series": fit.series.label} for fit in fits] if columns is None else columns
        self._by_label = {fit.series.label: Fit(fit) for fit in fits}

    def __getitem__(self, name: str) -> Fit:
        if name in self._by_label:
            return self._by_label[name]
        matches = [label for label in self._by_label if label.startswith(name)]
        if len(matches) != 1:
            labels = ", ".join(matches or self._by_label)
            raise KeyError(f"{len(matches)} series begin with '{name}'; choose from {labels}")
        return self._by_label[matches[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_label)

    def __len__(self) -> int:
        return len(self._by_label)

    def to_frame(self) -> "pd.DataFrame":
        """One row per series: its law, how well that describes it, and estimates with their intervals."""
        names = ("serial_fraction", "coherency", "rate_at_1", "limit")
        rows = [
            {
                **columns,
                "smt": fit.series_fit.series.key.smt,
                "law": fit.law,
                "described": fit.description,
                "described_within": fit.described_within,
                **{key: value for one in names for key, value in _columns(one, getattr(fit, one)).items()},
            }
            for columns, fit in zip(self.columns, self.values(), strict=True)
        ]
        return data_frame(rows, ("series", "smt", "law", "described", *names))

    def _block(self) -> Block:
        return Block(sentences=self.notes, table=fits_table(self.series_fits) if self.series_fits else None)

    def _figure(self) -> "Figure | None":
        return _curves(self.series_fits)


@dataclass(frozen=True, slots=True, repr=False)
class _PerSeries(Shown, Sequence[Sized]):
    """A value for every series; `columns` name the series in a data frame."""

    values: tuple[Sized, ...]
    notes: tuple[str, ...]
    columns: tuple[Columns, ...]

    def __getitem__(self, index: int) -> Sized:  # type: ignore[override]
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def fits(self) -> list[SeriesFit]:
        """The underlying fits."""
        return [one.fit for one in self.values]

    def _rows(self, facts: Iterable[Mapping[str, object]], nested: Collection[str]) -> list[dict[str, object]]:
        return [
            {**columns, **{name: value for name, value in own.items() if name not in nested}}
            for columns, own in zip(self.columns, facts, strict=True)
        ]

    def _figure(self) -> "Figure | None":
        return _curves(self.fits)


class Answers(_PerSeries[Answer]):
    """The answers to a question, one per series."""

    __slots__ = ()

    def to_frame(self) -> "pd.DataFrame":
        """One row per series: status, cores, threads, assurance and the sentence."""
        nested = ("name", "needed", "allocation", "neighbours", "replicas")
        rows = self._rows(map(answer_facts, self.values), nested)
        return data_frame(rows, ("series", "status", "cores", "threads", "assurance", "sentence"))

    def _block(self) -> Block:
        table = answers_table(self.values) if self.values else None
        return Block(sentences=[*map(answer_sentence, self.values), *self.notes], table=table)


class Limits(_PerSeries[ScalingLimits]):
    """The sizes from which more cores stop paying, and stop helping, one entry per series."""

    __slots__ = ()

    def to_frame(self) -> "pd.DataFrame":
        """One row per series: the recommended cores and the landmarks with their intervals."""
        rows = self._rows((dict(_flat_facts(limits_facts(one))) for one in self.values), ("name",))
        return data_frame(rows, ("series", "recommended_cores", "recommended_threads"))

    def _block(self) -> Block:
        return Block(sentences=self.notes, table=limits_table(self.values) if self.values else None)


# Parameters that add to a question, and the parameters that need another one.
DETAILS = ("quantile", "epochs")
NEEDS = {"quantile": "latency", "epochs": "work", "deadline": "work"}


def sizing_question(
    parameters: Mapping[str, float | None], assurance: float, price: Price, spell: Callable[[str], str] = str
) -> Question | None:
    """The question, if there is a target; `spell` turns the name of a parameter into the user's spelling."""
    given = {name: value for name, value in parameters.items() if value is not None}
    for name, value in given.items():
        if (needed := NEEDS.get(name)) and needed not in given:
            raise FitError(f"{spell(name)} needs {spell(needed)}; use both")
        most = {"quantile": FARTHEST, "efficiency": 1.0}.get(name, MOST_AMOUNT)
        if not LEAST_AMOUNT <= value <= most:
            allowed = f"above 0, at most {most:g}" if most == MOST_AMOUNT else f"between 0 and {most:g}"
            raise FitError(f"{spell(name)} is {value:g}, but must be a number {allowed}")
    items = given["work"] * given.get("epochs", 1.0) if "work" in given else None
    targets = [name for name in given if name not in DETAILS and not (name == "work" and "deadline" in given)]
    if len(targets) > 1:
        raise FitError(f"{' and '.join(map(spell, targets))} are different questions; ask one of them")
    if not 0.0 < assurance < 1.0:
        raise FitError(f"{spell('assurance')} is {assurance:g}, but must be between 0 and 1; try 0.95")
    if not (price.core_hour > 0.0 and price.replica_hour >= 0.0 and price.gpu_hour >= 0.0):
        raise FitError("a core-hour must cost more than 0, a replica-hour and a GPU-hour at least 0; change the prices")
    if not all(map(is_amount, (price.core_hour, price.replica_hour, price.gpu_hour))):
        raise FitError(f"a price must be from {LEAST_AMOUNT:g} to {MOST_AMOUNT:g}; change the prices")
    if items is not None and not is_amount(items):
        raise FitError(
            f"{spell('work')} times {spell('epochs')} is {items:g}; use {LEAST_AMOUNT:g} to {MOST_AMOUNT:g} items"
        )
    if not targets:
        return None
    return Question(Goal[targets[0].upper()], given[targets[0]], assurance, price, given.get("quantile"), items)


def deadline_seconds(deadline: str | float | None) -> float | None:
    """The seconds of a deadline such as 90, 45m or 8h."""
    try:
        return None if deadline is None else parse_duration(str(deadline))
    except ValueError:
        raise FitError(f"deadline '{deadline}' is not a time; write a time such as 90s, 45m or 8h") from None


def fit_sources(sources: Sequence[Source]) -> Fits:
    """Fit every series; notes name the series without a fit."""
    read, complaints = read_all(sources, Source.series)
    notes = [*(note for _, (_, notes) in read for note in notes), *map(str, complaints)]
    fits, refusals = fit_all(one for _, (series, _) in read for one in series)
    by_name = {one.name: source for source, (series, _) in read for one in series}
    columns = [by_name[fit.series.name].series_columns(fit.series) for fit in fits]
    return Fits(fits, [*notes, *grouped(refusals)], columns)


def refuse_none(results: BySeries) -> BySeries:
    """Refuse empty results, with the notes as reasons."""
    if not len(results):
        raise FitError("; ".join(results.notes))
    return results


def per_series(
    sources: Sequence[Source], find: Callable[[Source, SeriesFit], Sized]
) -> tuple[tuple[Sized, ...], tuple[str, ...], tuple[Columns, ...]]:
    """A value for every series, one for all SMT levels of the same settings; notes; and the columns of the series."""
    read, complaints = read_all(sources, Source.series)
    fits: list[tuple[Source, SeriesFit]] = []
    notes: list[str] = []
    for source, (series, left_out) in read:
        own, refusals = fit_all(series)
        fits += [(source, fit) for fit in by_settings(own)]
        notes += [*left_out, *grouped(refusals)]
    columns = tuple(source.series_columns(fit.series) for source, fit in fits)
    return tuple(find(source, fit) for source, fit in fits), (*notes, *map(str, complaints)), columns


def at_price(question: Question, source: Source, fit: SeriesFit) -> Question:
    """The question at the prices of a series: the core-hour of its node type, and its GPU."""
    settings = fit.series.key.settings
    price = question.price if settings is None else question.price.on_device(settings.device)
    return replace(question, price=price if source.core_hour is None else replace(price, core_hour=source.core_hour))


def _flat_facts(facts: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from ((name if key == "value" else f"{name}_{key}", part) for key, part in value.items())
        else:
            yield name, value


def _curves(fits: Sequence[SeriesFit]) -> "Figure | None":
    from scaling.reporting.plots.figure import curves  # matplotlib takes seconds to import

    return curves(fits)


def _columns(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    if estimate is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def deployments(sources: Sequence[Source], sized: Sequence[Answer | ScalingLimits]) -> list[Deployment]:
    """The size of every series, in order; for limits, the recommended one."""
    by_node_type = {source.node_type: source for source in sources}
    return [_deployment(by_node_type[one.fit.series.key.node_type], one) for one in sized]


def _deployment(source: Source, sized: Answer | ScalingLimits) -> Deployment:
    cores, threads, replicas = _size(sized)
    keys = [one.series.key.on_any_node_type for one in levels_of(sized.fit)]
    summaries = [] if source.is_table else [one for one in source.summaries if series_key(one.point) in keys]
    launches = [launch for one in summaries for launch in (*one.used, *one.disturbed)]
    peaks = [launch.peak_memory_bytes for launch in launches if launch.peak_memory_bytes is not None]
    return Deployment(
        name=sized.fit.series.label,
        sentence=answer_sentence(sized) if isinstance(sized, Answer) else _limits_sentence(source, sized),
        cores=cores,
        threads=threads,
        core_threads=source.sizes.threads if source.sizes else 1,
        replicas=replicas,
        memory_bytes=max(peaks, default=None),
        launches=len(peaks),
        quotas=tuple(_quota_words(source, keys)),
    )


def _limits_sentence(source: Source, limits: ScalingLimits) -> str:
    settings = limits.fit.series.key.settings or table_point(limits.fit.series.own_name)
    points = (point for point in source.points if series_settings(point.summary.point) == settings)
    (answer,) = size_answers(points, [limits])
    return size_sentence(answer)


def _size(sized: Answer | ScalingLimits) -> tuple[int | None, int, int | None]:
    """Cores, threads per core, and replicas if a single instance is not enough."""
    if isinstance(sized, ScalingLimits):
        return sized.recommended, sized.threads, None
    if sized.allocation is not None:
        return sized.allocation.cores, sized.allocation.threads, None
    planned = sized.replicas
    return (planned.cores, planned.threads, planned.replicas) if planned else (None, 1, None)


def _quota_words(source: Source, keys: Sequence[SeriesKey]) -> Iterator[str]:
    """Sentences about points with the same settings under a CPU quota."""
    for point in () if source.is_table else source.points:
        settings = point.summary.point
        if settings.quota is not None and series_key(replace(settings, quota=None)) in keys and point.efficiency:
            throttled = point.summary.throttled_share
            periods = "" if throttled is None else f", throttled in {share(throttled)} of the periods"
            quota = f"a quota of {1000 * settings.quota:.0f}m on {count(settings.cores, 'core')}"
            yield f"{quota}: efficiency {percent(point.efficiency.value)}{periods}"
