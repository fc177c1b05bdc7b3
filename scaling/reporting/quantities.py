"""Quantities of a point, declared once: JSON key and type, value, and columns.

Tables, JSON, its schema and data frames follow from this list. A new quantity is one entry.
Verdicts and doubts are put in words.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from scaling.analysis import rules
from scaling.analysis.decomposition import Decomposition
from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import Doubt, Verdict
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.step_times import STEP_FIGURES
from scaling.analysis.summary import HostSlowdown, Summary
from scaling.features import features, resolve
from scaling.reporting.json_types import ESTIMATE, NUMBER, TEXTS, Fields, estimate_keys, fields_of, record
from scaling.reporting.words import count, duration, estimate_facts, figure, interval_alone, share

# The estimates of a decomposition, and the factors of its computation scaling.
DECOMPOSITION = ("cpu_utilisation", "computation_scaling", "idle", "computation")
COUNTERS = ("instructions", "ipc", "clock")
REPORTS_TIME = "the program reports its own time, and its CPU time is known for the whole process only"
# The JSON keys of the figures of all steps.
STEP_KEYS = {name: "step_cv" if name == "cv" else f"step_seconds_{name}" for name in STEP_FIGURES}

Points = Sequence[ScalingPoint]
Headers = Callable[[Points], Sequence[str]]
VERDICT_WORDS = {verdict: verdict.value.replace("-", " ") for verdict in Verdict}

# The 90 % quantile of turns over the step time, above which a sentence reports it.
SLOWER = 1.1


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of a point: `types` and `facts` by JSON key, and the `headers` and `cells` of its columns, if any.

    `order` has what sorts each column; the column of an interval belongs to the figure before it.
    """

    types: Fields
    facts: Callable[[ScalingPoint], dict[str, object]]
    headers: Headers = lambda points: ()
    cells: Callable[[ScalingPoint], Sequence[str]] = lambda point: ()
    order: Callable[[ScalingPoint], Sequence[object]] = lambda point: ()


def plain(key: str, kind: Any, value: Callable[[ScalingPoint], object], **columns: Any) -> Quantity:
    """A quantity with one key."""
    columns.setdefault("order", lambda point: [value(point)])
    return Quantity({key: kind}, lambda point: {key: value(point)}, **columns)


def estimate(key: str, value: Callable[[ScalingPoint], Estimate | None], **columns: Any) -> Quantity:
    """A quantity with an interval, whose ends are keys of their own."""
    columns.setdefault("order", lambda point: [value(point)])
    return Quantity(estimate_keys(key), lambda point: ends(key, value(point)), **columns)


def ends(key: str, value: Estimate | None) -> dict[str, object]:
    """A value and the ends of its interval."""
    facts = estimate_facts(value)
    return {key: facts["value"], f"{key}_low": facts["low"], f"{key}_high": facts["high"]}


@cache
def quantities() -> tuple[Quantity, ...]:
    """The quantities of steps, of features, and of launches, in this order."""
    added = (one for feature in features() for function in feature.quantities for one in resolve(function)())
    return (*_OF_STEPS, *added, *_OF_LAUNCHES)


def _columns(*headers: str) -> Headers:
    return lambda points: headers


def _share_column(key: str, header: str, is_shown: Callable[[Summary], bool]) -> Quantity:
    """A share, with a column if any point is to show it."""

    def cells(point: ScalingPoint) -> list[str]:
        value = getattr(point.summary, key)
        return ["-" if value is None else share(value)]

    return plain(
        key,
        NUMBER,
        lambda point: getattr(point.summary, key),
        headers=lambda points: [header] if any(is_shown(point.summary) for point in points) else [],
        cells=cells,
    )


def step_cell(summary: Summary) -> str:
    """A step time; an upper bound for a disturbed point."""
    most = "≤ " if summary.verdict is Verdict.DISTURBED else ""
    return "-" if summary.step is None else most + duration(summary.step.value)


def between(figure: Estimate | None, form: str) -> str:
    """The interval of a figure; empty if it is unknown, or exact by definition."""
    is_exact = figure is not None and figure.low == figure.high
    return "" if is_exact else interval_alone(figure, form.format)


def _step_cells(point: ScalingPoint) -> list[str]:
    step = point.summary.step
    half = step.half_width if step else None
    return [step_cell(point.summary), "-" if half is None else share(half)]


def _step_order(point: ScalingPoint) -> list[object]:
    step = point.summary.step
    return [step, step and step.half_width]


def _rate_cells(point: ScalingPoint) -> list[str]:
    rate = point.summary.rate if point.summary.step else None
    return ["-" if rate is None else figure(rate.value, 4)]


def _ratio(key: str, headers: Headers, words: Callable[[float], str], form: str, *, columns: int = 2) -> Quantity:
    """A ratio that may be a bound, and its interval."""

    def cells(point: ScalingPoint) -> list[str]:
        ratio: Estimate | None = getattr(point, key)
        if point.summary.step is None:
            return ["-", "-"][:columns]
        if ratio is None or point.unknown:
            return ["-", ""][:columns]
        limit = "≥ " if point.at_least else "≤ " if point.at_most else ""
        return [limit + words(ratio.value), between(ratio, form)][:columns]

    return estimate(key, attrgetter(key), headers=headers, cells=cells)


def _speedup_headers(points: Points) -> Sequence[str]:
    weak = all(point.summary.point.scale == "weak" for point in points)
    return [">scaled speedup" if weak else ">speedup", "95 %"]


def _with_smt(*headers: str) -> Headers:
    """Columns of tables with several threads per core."""
    return lambda points: headers if any(point.smt_yield for point in points) else ()


def _smt_yield_cells(point: ScalingPoint) -> list[str]:
    figure = point.smt_yield
    return ["-" if figure is None else f"{figure.value:.2f} {between(figure, '{:.2f}')}".rstrip()]


def _launches_cells(point: ScalingPoint) -> list[str]:
    used, left_out = point.summary.launch_count, point.summary.left_out
    return [f"{used}" + (f" of {used + left_out}" if left_out else "")]


def _verdict_cells(point: ScalingPoint) -> list[str]:
    failures = [f"failed: {'; '.join(point.summary.failures)}"] if point.summary.failures else []
    return ["; ".join([*([] if point.summary.step is None else [verdict_words(point)]), *failures])]


def decomposition_facts(decomposition: Decomposition | None) -> dict[str, object] | None:
    """The efficiency losses of a point, unrounded; `counters` is None without hardware counters."""
    if decomposition is None:
        return None
    counters = decomposition.counters
    return {
        **{name: estimate_facts(getattr(decomposition, name)) for name in DECOMPOSITION},
        "counters": counters and {name: estimate_facts(getattr(counters, name)) for name in COUNTERS},
    }


def _step_figure(name: str, key: str) -> Quantity:
    return estimate(key, lambda point: point.summary.step_figures.get(name))


_COUNTER_RATIOS = record("CounterRatios", dict.fromkeys(COUNTERS, ESTIMATE))
_LOSSES = record("Decomposition", dict.fromkeys(DECOMPOSITION, ESTIMATE), counters=_COUNTER_RATIOS | None)
HOST = record("HostSlowdown", fields_of(HostSlowdown))

_OF_STEPS = (
    estimate(
        "step_seconds",
        lambda point: point.summary.step,
        headers=_columns(">step", ">±"),
        cells=_step_cells,
        order=_step_order,
    ),
    estimate("items_per_second", lambda point: point.summary.rate, headers=_columns(">items/s"), cells=_rate_cells),
    _ratio("speedup", _speedup_headers, "{:.3f}".format, "{:.2f}"),
    _ratio("efficiency", _columns(">efficiency", "95 %"), share, "{:.0%}"),
    estimate("smt_yield", lambda point: point.smt_yield, headers=_with_smt("SMT yield"), cells=_smt_yield_cells),
    _ratio("common_speedup", _with_smt(">speedup vs 1 × 1", "95 %"), "{:.3f}".format, "{:.2f}"),
    _ratio("common_efficiency", _with_smt(">efficiency vs 1 × 1"), share, "{:.0%}", columns=1),
    estimate("karp_flatt", attrgetter("karp_flatt")),
    *(_step_figure(name, key) for name, key in STEP_KEYS.items()),
    plain("decomposition", _LOSSES | None, lambda point: decomposition_facts(point.decomposition)),
    plain("not_decomposed", str | None, lambda point: REPORTS_TIME if point.reports_time else None),
    plain("peak_memory_bytes", NUMBER, lambda point: point.summary.peak_memory_bytes),
    _share_column("throttled_share", ">throttled", lambda summary: summary.point.quota is not None),
    _share_column("pipeline_share", ">pipeline CPU", lambda summary: summary.pipeline_share is not None),
)
_OF_LAUNCHES = (
    plain(
        "launches", int, lambda point: point.summary.launch_count, headers=_columns(">launches"), cells=_launches_cells
    ),
    plain("left_out", int, lambda point: point.summary.left_out),
    plain("failures", TEXTS, lambda point: point.summary.failures),
    plain("items_per_step", int | None, lambda point: point.summary.items),
    plain(
        "verdict", str, lambda point: VERDICT_WORDS[point.verdict], headers=_columns("verdict"), cells=_verdict_cells
    ),
    plain("verdict_code", Verdict, lambda point: point.verdict.value),
    plain("speedup_at_least", NUMBER, lambda point: point.at_least),
    plain("speedup_at_most", NUMBER, lambda point: point.at_most),
    plain("host", HOST | None, lambda point: point.summary.slowdown and asdict(point.summary.slowdown)),
    plain("doubts", TEXTS, lambda point: [doubt.rule.name for doubt in point.all_doubts]),
    plain("doubt_codes", TEXTS, lambda point: [doubt.rule.code for doubt in point.all_doubts]),
    plain("reasons", TEXTS, lambda point: [doubt_words(doubt) for doubt in point.all_doubts]),
)


def doubt_words(doubt: Doubt) -> str:
    """A doubt as a sentence."""
    message = doubt.rule.words.format(amount=doubt.amount, detail=doubt.detail)
    return message if doubt.of == 1 else f"{message} (in {doubt.launches} of {doubt.of} launches)"


def verdict_words(scaled: ScalingPoint) -> str:
    """The verdict of a point with its interval, its bound or its doubts."""
    verdict = scaled.verdict
    against = [doubt.rule for doubt in scaled.all_doubts if verdict is Verdict.OK or doubt.rule.spoils]
    names = ", ".join(dict.fromkeys(rule.name for rule in against))
    if verdict is Verdict.IMPRECISE:
        return f"imprecise ({_why_imprecise(scaled)})"
    if scaled.at_least is not None:
        return f"disturbed: at least {scaled.at_least:.3g} ×"
    if scaled.at_most is not None:
        return f"one core disturbed: at most {scaled.at_most:.3g} ×"
    return VERDICT_WORDS[verdict] + (f": {names}" if names else "")


def _why_imprecise(scaled: ScalingPoint) -> str:
    """The wider half interval, of the speedup or the step time, if that is too wide; else the other reasons."""
    known = [figure.half_width for figure in (scaled.speedup, scaled.summary.step) if figure]
    half_width, launches = max(filter(None, known), default=0.0), scaled.summary.launch_count
    broken = [doubt.rule for doubt in scaled.all_doubts if doubt.rule.verdict is Verdict.IMPRECISE]
    if half_width > rules.WIDE.limit:
        return f"± {share(half_width)}"
    if rules.FEW_LAUNCHES in broken:
        return "1 launch" if launches == 1 else f"{launches} launches"
    if rules.NO_ANSWER in broken:
        return "no interval"
    return ", ".join(dict.fromkeys(rule.name for rule in broken))


def verdict_counts(verdicts: Iterable[Verdict]) -> str:
    """The number of points by verdict: '36 ok, 3 imprecise, 1 disturbed'."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {words}" for verdict, words in VERDICT_WORDS.items() if counts[verdict])


def slowdown_words(slowdown: HostSlowdown) -> str:
    """The share of quiet turns, and turns over the step time."""
    return f"{quiet_words(slowdown)}; turns took {slower_words(slowdown)}"


def quiet_words(slowdown: HostSlowdown) -> str:
    """'5 of 14 turns quiet'."""
    return f"{round(slowdown.quiet_share * slowdown.turns)} of {count(slowdown.turns, 'turn')} quiet"


def slower_words(slowdown: HostSlowdown) -> str:
    """Turns over the step time, from the 10 % quantile to the 90 % quantile."""
    return f"{slowdown.p10:.2f} to {slowdown.p90:.2f} times the step time (median {slowdown.p50:.2f})"


def is_slower(slowdown: HostSlowdown | None) -> bool:
    """Whether turns took notably longer than the step time."""
    return slowdown is not None and slowdown.p90 > SLOWER
