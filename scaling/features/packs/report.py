"""Tables, sentences and JSON of packs: every division, the best of them, and slowdowns of mixed packs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from scaling.analysis.interference import (
    USUAL_QUANTILE,
    Choice,
    Division,
    PackedSeries,
    Slowdown,
    choose,
    packed_series,
    slowdowns,
)
from scaling.analysis.rules import Verdict
from scaling.analysis.summary import Summary
from scaling.machine.placement import Sharing
from scaling.reporting.answers import StudyAnswer
from scaling.reporting.json_types import ARRAY, ESTIMATE, NUMBER, SETTINGS, TEXTS, Facts, Fields, fields_of, record
from scaling.reporting.points import names_among, point_settings
from scaling.reporting.quantities import VERDICT_WORDS
from scaling.reporting.words import (
    Block,
    Section,
    Table,
    cores_words,
    count,
    duration,
    estimate_facts,
    figure,
    share,
    with_interval,
)
from scaling.results.evaluation import Evaluation

# Latencies in the table of divisions.
QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99}
RATIO = "{:.3f}".format
MEASURE_AGAIN = "measure more launches on a quiet machine (--launches, `scaling machine doctor`)"
HINT = (
    "All replicas of a division run at once, each on its own cores, and only the time in which all of them run counts. "
    "The promised throughput is the number of replicas times the throughput of one replica alone on the same cores, "
    "measured in turns with the division."
)
# Levels at which replicas may share hardware, from the closest on, with their words.
LEVELS = {"core": "its core", "l3": "its L3", "node": "its NUMA node", "socket": "its socket"}


def division_words(division: Division) -> str:
    """'4 × 2', replicas times cores; with several threads per core '4 × 2 (smt 2)'."""
    point = division.point
    return f"{point.replicas} × {point.cores}" + (f" (smt {point.smt})" if point.smt > 1 else "")


def size_words(division: Division) -> str:
    """'4 replicas of 2 cores'; with several threads per core '4 replicas of 2 cores × 2 threads'."""
    point = division.point
    return f"{count(point.replicas, 'replica')} of {cores_words(point.cores, point.smt)}"


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """The best division for every workload that was measured in packs, or the slowdowns of mixed packs."""
    if pairs := result.subject(slowdowns):
        return [_answer("slowdown", one.workload, slowdown_sentence(one), one.is_answer) for one in pairs]
    return [
        _answer("replicas", name, choice_sentences(choice, name)[0], choice.is_answer and choice.best is not None)
        for name, choice in result.subject(_choices)
    ]


def _answer(question: str, subject: str, sentence: str, known: bool) -> StudyAnswer:
    return StudyAnswer(question, subject, "give" if known else "no-answer-yet", sentence, known)


def _choices(summaries: Iterable[Summary]) -> list[tuple[str, Choice]]:
    """The choice for every workload, with the name that distinguishes it from the others."""
    choices = [choose(one) for one in packed_series(summaries)]
    names = names_among([choice.series.settings for choice in choices])
    return [(names[choice.series.settings], choice) for choice in choices]


def divisions_table(series: PackedSeries) -> Table:
    """Every division: measured and promised throughput, latency, fairness, skew and shared hardware."""
    rows = [
        (
            division_words(one),
            _throughput_words(one),
            with_interval(one.promised if one.point.replicas > 1 else None, figure),
            with_interval(one.interference, share),
            *(duration(latency.value) if (latency := one.latency(q)) else "-" for q in QUANTILES.values()),
            "-" if one.fairness is None else f"{one.fairness:.3f}",
            "-" if one.slowest_over_fastest is None else f"{one.slowest_over_fastest:.3f}",
            "-" if one.start_skew is None else share(one.start_skew),
            ", ".join(level for level in LEVELS if any(getattr(own, level) for own in one.shares))
            or ("nothing" if one.shares else "-"),
            VERDICT_WORDS[one.summary.verdict],
        )
        for one in series.divisions
    ]
    headers = (
        *("replicas × cores", ">items/s", ">promised", ">of promised"),
        *(f">{name}" for name in QUANTILES),
        *(">fairness", ">slowest / fastest", ">start skew", "shared", "verdict"),
    )
    return Table(headers, rows)


def _throughput_words(division: Division) -> str:
    """The throughput with its interval; a lower bound if the launches were disturbed."""
    at_least = "≥ " if division.throughput and division.summary.verdict is Verdict.DISTURBED else ""
    return at_least + with_interval(division.throughput, figure)


def sharing_sentence(division: Division) -> str:
    """The hardware that each replica shares, and the number of others it shares it with."""
    parts = []
    for name, words in LEVELS.items():
        counts = sorted({number for one in division.shares if (number := getattr(one, name)) is not None})
        if counts and counts[-1] > 0:
            others = "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
            parts.append(f"{words} with {others} other{'' if others == '1' else 's'}")
    shared = f"every replica shares {', '.join(parts)}"
    return f"{division_words(division)}: {shared if parts else 'replicas share no core, cache, node or socket'}"


def choice_sentences(choice: Choice, name: str | None = None) -> list[str]:
    """The recommended division, the one that lone replicas would have promised, and divisions not compared."""
    best, cores = choice.best, count(choice.series.cores, "core")
    name = name or choice.series.settings.subject
    if not choice.is_answer:
        few = f"too few divisions of {cores} can be compared ({_unknown_words(choice.unknown)})"
        return [f"no answer yet for {name}: {few}; {MEASURE_AGAIN}"]
    limit = "" if choice.limit is None else f"{_quantile_words(choice.quantile)} within {duration(choice.limit)}"
    if best is None:
        return [f"no division of {cores} among replicas of {name} keeps {limit}; {_nearest(choice)}", *_others(choice)]
    latency, most = best.latency(choice.quantile), ", the highest of the compared divisions" if choice.unknown else ""
    first = (
        f"give {name} {size_words(best)}{f' for {limit}' if limit else ''}: "
        f"{with_interval(best.throughput, figure)} items/s on {cores}{most}"
        + (f", {_latency_words(choice.quantile)} {with_interval(latency, duration)}" if latency else "")
        + (f"; indistinguishable from {', '.join(map(division_words, choice.rivals))}" if choice.rivals else "")
    )
    return [first, *_others(choice)]


def _unknown_words(divisions: Sequence[Division]) -> str:
    """'2 × 4 is disturbed, 8 × 1 is known only to within a factor of 3.4'."""
    return ", ".join(f"{division_words(one)} {_why_unknown(one)}" for one in divisions)


def _why_unknown(division: Division) -> str:
    if division.throughput is None:
        return "was not measured"
    if not division.summary.valid:
        return f"is {VERDICT_WORDS[division.summary.verdict]}"
    low, high = division.throughput.low, division.throughput.high
    return f"is known only to within a factor of {figure(high / low)}" if low and high else "has no interval"


def _others(choice: Choice) -> list[str]:
    """The division that lone replicas would have promised, and divisions that were not compared."""
    sentences = []
    hoped = choice.promised
    if hoped is not None and hoped.promised is not None and hoped.point.replicas > 1:
        measured = f"{_throughput_words(hoped)} items/s were measured" if hoped.throughput else "it was not measured"
        same = "the same division" if hoped is choice.best else "another division"
        known = all(one.promised.is_answer for one in choice.series.filling if one.promised)
        among = "" if known else "of the divisions whose promise has an interval, "
        sentences.append(
            f"{among}replicas measured alone promise the most with {division_words(hoped)}, {same}: "
            f"{with_interval(hoped.promised, figure)} items/s; {measured}"
        )
    if choice.unknown:
        sentences.append(f"not compared: {_unknown_words(choice.unknown)}; {MEASURE_AGAIN}")
    return sentences


def _nearest(choice: Choice) -> str:
    answering = (one for one in choice.series.filling if one.is_answer)
    by_latency = [(latency.value, one) for one in answering if (latency := one.latency(choice.quantile))]
    if not by_latency:
        return "no division has a known latency"
    seconds, one = min(by_latency, key=lambda pair: pair[0])
    return f"the lowest latency is {duration(seconds)}, with {division_words(one)}"


def _quantile_words(quantile: float) -> str:
    return "the median step" if quantile == USUAL_QUANTILE else f"{100 * quantile:g} % of steps"


def _latency_words(quantile: float) -> str:
    return "median step" if quantile == USUAL_QUANTILE else f"{_quantile_words(quantile)} within"


def section(result: Evaluation) -> Section | None:
    """The section on divisions of the cores and on workloads side by side; None without packs."""
    pairs = result.subject(slowdowns)
    blocks = [
        Block(
            heading=name,
            # Beside each other, workloads have a single division, so none is recommended.
            sentences=() if pairs else choice_sentences(choice, name),
            table=divisions_table(choice.series),
            caption=f"Divisions of the cores among replicas of {name}",
        )
        for name, choice in result.subject(_choices)
    ]
    if not blocks:
        return None
    if pairs:
        caption = (
            "Step time of each workload next to another workload or a second copy of itself, relative to running alone"
        )
        sentences, table = [*map(slowdown_sentence, pairs)], slowdown_table(pairs)
        blocks.append(Block(heading="Workloads side by side", sentences=sentences, table=table, caption=caption))
    return Section("packs", "Replicas", "Replicas and cores", [*blocks, Block(hint=HINT)])


def slowdown_table(pairs: Sequence[Slowdown]) -> Table:
    """The slowdown of each workload beside another or itself, for the same work."""
    names = list(dict.fromkeys(one.workload for one in pairs))
    factors = {(one.workload, one.beside): one.factor for one in pairs if one.is_answer}
    rows = [(name, *(with_interval(factors.get((name, other)), RATIO) for other in names)) for name in names]
    return Table(("slowdown of", *(f">beside {name}" for name in names)), rows)


def slowdown_sentence(one: Slowdown) -> str:
    """'zstd beside itself, 4 cores each: a step takes 1.102 times as long as alone'."""
    other, cores = "itself" if one.beside == one.workload else one.beside, count(one.summary.point.cores, "core")
    slowdown = (
        f"a step takes {with_interval(one.factor, RATIO)} times as long as alone"
        if one.is_answer
        else f"no answer yet: the points are {VERDICT_WORDS[one.summary.verdict]}; {MEASURE_AGAIN}"
    )
    return f"{one.workload} beside {other}, {cores} each: {slowdown}"


def _latency_facts(quantile: float) -> tuple[Any, Callable[[Division], object]]:
    return ESTIMATE, lambda one: estimate_facts(one.latency(quantile))


DIVISION = Facts[Division](
    "Division",
    {
        "replicas": (int, lambda one: one.point.replicas),
        "cores": (int, lambda one: one.point.cores),
        "smt": (int, lambda one: one.point.smt),
        "launches": (int, lambda one: one.summary.launch_count),
        "items_per_second": (ESTIMATE, lambda one: estimate_facts(one.throughput)),
        "promised_items_per_second": (ESTIMATE, lambda one: estimate_facts(one.promised)),
        "kept_of_a_lone_replica": (ESTIMATE, lambda one: estimate_facts(one.interference)),
        **{f"step_seconds_{name}": _latency_facts(quantile) for name, quantile in QUANTILES.items()},
        "fairness": (NUMBER, lambda one: one.fairness),
        "slowest_over_fastest": (NUMBER, lambda one: one.slowest_over_fastest),
        "start_skew": (NUMBER, lambda one: one.start_skew),
        "disjoint": (bool, lambda one: one.disjoint),
        "shares": (ARRAY[record("Sharing", fields_of(Sharing))], lambda one: [asdict(share) for share in one.shares]),
        "failures": (TEXTS, lambda one: list(one.summary.failures)),
        "verdict_code": (Verdict, lambda one: one.summary.verdict),
    },
)
CHOICE = Facts[Choice](
    "Packs",
    {
        "divided_cores": (int, lambda one: one.series.cores),
        "latency_limit": (NUMBER, lambda one: one.limit),
        "quantile": (float, lambda one: one.quantile),
        "best": (DIVISION.record | None, lambda one: DIVISION.of(one.best) if one.best else None),
        "promised_best": (DIVISION.record | None, lambda one: DIVISION.of(one.promised) if one.promised else None),
        "rivals": (TEXTS, lambda one: [*map(division_words, one.rivals)]),
        "unknown": (TEXTS, lambda one: [*map(division_words, one.unknown)]),
        "is_answer": (bool, lambda one: one.is_answer),
        "divisions": (ARRAY[DIVISION.record], lambda one: [*map(DIVISION.of, one.series.divisions)]),
        "sentences": (TEXTS, lambda one: choice_sentences(one)),
    },
)
SLOWDOWN = Facts[Slowdown](
    "Slowdown",
    {
        "workload": (str, lambda one: one.workload),
        "beside": (str, lambda one: one.beside),
        "cores": (int, lambda one: one.summary.point.cores),
        "slowdown": (ESTIMATE, lambda one: estimate_facts(one.factor)),
        "failures": (TEXTS, lambda one: list(one.summary.failures)),
        "verdict_code": (Verdict, lambda one: one.summary.verdict),
    },
)


def packs_facts(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """The divisions of every workload and the best of them, for JSON."""
    return [{**point_settings(choice.series.settings), **CHOICE.of(choice)} for choice in choices]


def printed() -> Fields:
    """The keys and types of `pack --json`."""
    return {"packs": ARRAY[record("Packs", SETTINGS, CHOICE.types)], "slowdowns": ARRAY[SLOWDOWN.record]}
