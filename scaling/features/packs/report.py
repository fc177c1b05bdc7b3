"""Packs of replicas as tables, sentences and JSON facts: what each division does, and which is best."""

from collections.abc import Iterable, Sequence
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
from scaling.machine.placement import Sharing
from scaling.reporting.answers import StudyAnswer
from scaling.reporting.json_types import ARRAY, ESTIMATE, NUMBER, SETTINGS, TEXTS, Fields, fields_of, record
from scaling.reporting.points import names_among, point_settings
from scaling.reporting.verdicts import VERDICT_WORDS
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

# The latencies that a table has of a division.
QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99}
# What is to be done where divisions have no answer.
MEASURE_AGAIN = "measure more launches on a quiet machine (--launches, `scaling machine doctor`)"
HINT = (
    "All replicas of a division run at once on cores of their own, and only the time in which all of them run counts. "
    "Promised is the throughput of a lone replica on as many cores, which took turns with them, times their number."
)
# What replicas may share, from the closest on, and how a sentence says so.
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
    """The best division of every workload that was measured in packs, or how workloads slow each other down."""
    if found := result.subject(slowdowns):
        return [
            StudyAnswer("slowdown", one.workload, _code(one.is_answer), sentence, one.is_answer)
            for one, sentence in zip(found, slowdown_sentences(found), strict=True)
        ]
    return choice_answers([choose(one) for one in result.subject(packed_series)])


def choice_answers(choices: Sequence[Choice]) -> list[StudyAnswer]:
    """The recommendation of each alone."""
    known = [choice.is_answer and choice.best is not None for choice in choices]
    return [
        StudyAnswer("replicas", name, _code(is_known), choice_sentences(choice, name)[0], is_known)
        for choice, name, is_known in zip(choices, _names(choices), known, strict=True)
    ]


def _names(choices: Sequence[Choice]) -> list[str]:
    """What is divided, by what tells them apart."""
    names = names_among([choice.series.settings for choice in choices])
    return [names[choice.series.settings] for choice in choices]


def _code(known: bool) -> str:
    return "give" if known else "no-answer-yet"


def divisions_table(series: PackedSeries) -> Table:
    """Every division: throughput, what lone replicas promised, what each keeps, latency, fairness and skew."""
    rows = [
        (
            division_words(one),
            _throughput_words(one),
            with_interval(one.promised if one.point.replicas > 1 else None, figure),
            with_interval(one.interference, share),
            *(_latency_cell(one, quantile) for quantile in QUANTILES.values()),
            "-" if one.fairness is None else f"{one.fairness:.3f}",
            "-" if one.slowest_over_fastest is None else f"{one.slowest_over_fastest:.3f}",
            "-" if one.start_skew is None else share(one.start_skew),
            "-" if not one.shares else _shared_levels(one.shares),
            VERDICT_WORDS[one.summary.verdict],
        )
        for one in series.divisions
    ]
    headers = (
        *("replicas × cores", ">items/s", ">promised", ">kept of a lone replica"),
        *(f">{name}" for name in QUANTILES),
        *(">fairness", ">slowest / fastest", ">start skew", "shared", "verdict"),
    )
    return Table(headers, rows)


def _throughput_words(division: Division) -> str:
    """Its throughput with the interval; of disturbed launches at least that of the fastest."""
    at_least = "≥ " if division.throughput and division.summary.verdict is Verdict.DISTURBED else ""
    return at_least + with_interval(division.throughput, figure)


def _latency_cell(division: Division, quantile: float) -> str:
    latency = division.latency(quantile)
    return "-" if latency is None else duration(latency.value)


def _shared_levels(shares: Sequence[Sharing]) -> str:
    """The closest things that replicas have in common."""
    names = [name for name in LEVELS if any(getattr(one, name) for one in shares)]
    return ", ".join(names) or "nothing"


def sharing_sentence(division: Division) -> str:
    """What each replica of a pack shares with how many others."""
    parts = []
    for name, words in LEVELS.items():
        counts = sorted({number for one in division.shares if (number := getattr(one, name)) is not None})
        if counts and counts[-1] > 0:
            others = "–".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
            parts.append(f"{words} with {others} other{'' if others == '1' else 's'}")
    every = f"{division_words(division)}: every replica shares"
    return f"{every} {', '.join(parts)}" if parts else f"{every} no core, cache, node or socket with another"


def choice_sentences(choice: Choice, name: str | None = None) -> list[str]:
    """The recommendation, what lone replicas would have promised, and what is not known."""
    best, cores = choice.best, count(choice.series.cores, "core")
    name = name or choice.series.settings.subject
    if not choice.is_answer:
        unknown = _unknown_words(choice.unknown)
        return [f"no answer yet for {name}, which division of {cores} is best: {unknown}; {MEASURE_AGAIN}"]
    limit = "" if choice.limit is None else f"{_quantile_words(choice.quantile)} within {duration(choice.limit)}"
    if best is None:
        return [f"no division of {cores} among replicas of {name} keeps {limit}; {_nearest(choice)}", *_others(choice)]
    latency, most = best.latency(choice.quantile), ", the most of those compared" if choice.unknown else ""
    first = (
        f"give {name} {size_words(best)}{f' for {limit}' if limit else ''}: "
        f"{with_interval(best.throughput, figure)} items/s on {cores}{most}"
        + (f", {_quantile_words(choice.quantile)} {with_interval(latency, duration)}" if latency else "")
        + (f"; not to be told from it: {', '.join(map(division_words, choice.rivals))}" if choice.rivals else "")
    )
    return [first, *_others(choice)]


def _unknown_words(divisions: Sequence[Division]) -> str:
    """'2 × 4 is disturbed, 8 × 1 is known to a factor of 3.4 only'."""
    return ", ".join(f"{division_words(one)} {_why_unknown(one)}" for one in divisions)


def _why_unknown(division: Division) -> str:
    if division.throughput is None:
        return "was not measured"
    if not division.summary.valid:
        return f"is {VERDICT_WORDS[division.summary.verdict]}"
    low, high = division.throughput.low, division.throughput.high
    return f"is known to a factor of {figure(high / low)} only" if low and high else "has no interval"


def _others(choice: Choice) -> list[str]:
    """What lone replicas would have promised, and which divisions are unknown."""
    sentences = []
    hoped = choice.promised
    if hoped is not None and hoped.promised is not None and hoped.point.replicas > 1:
        measured = f"{_throughput_words(hoped)} items/s" if hoped.throughput else "nothing was"
        same = "the same division" if hoped is choice.best else "another one"
        sentences.append(
            f"a lone replica times {hoped.point.replicas} would have promised {with_interval(hoped.promised, figure)} "
            f"items/s of {division_words(hoped)}, {same}; {measured} measured there"
        )
    if choice.unknown:
        sentences.append(f"not compared: {_unknown_words(choice.unknown)}; {MEASURE_AGAIN}")
    return sentences


def _nearest(choice: Choice) -> str:
    answering = (one for one in choice.series.filling if one.is_answer)
    known = [(latency.value, one) for one in answering if (latency := one.latency(choice.quantile))]
    if not known:
        return "nothing is known of any"
    seconds, one = min(known, key=lambda pair: pair[0])
    return f"the least is {duration(seconds)}, of {division_words(one)}"


def _quantile_words(quantile: float) -> str:
    return "the median step" if quantile == USUAL_QUANTILE else f"{100 * quantile:g} % of steps"


def section(result: Evaluation) -> Section | None:
    """What a page says of the divisions of every workload, and of workloads side by side; None where there are none."""
    choices = [choose(one) for one in result.subject(packed_series)]
    blocks = [
        Block(
            heading=name,
            sentences=choice_sentences(choice, name),
            table=divisions_table(choice.series),
            caption=f"Divisions of the cores among replicas of {name}",
        )
        for choice, name in zip(choices, _names(choices), strict=True)
    ]
    if not blocks:
        return None
    if found := result.subject(slowdowns):
        caption = "How many times as long a step of each workload takes beside each"
        sentences, table = slowdown_sentences(found), slowdown_table(found)
        blocks.append(Block(heading="Workloads side by side", sentences=sentences, table=table, caption=caption))
    return Section("packs", "Replicas", "Replicas and cores", [*blocks, Block(hint=HINT)])


def slowdown_table(found: Sequence[Slowdown]) -> Table:
    """How many times as long each workload takes beside each, for the same work."""
    names = list(dict.fromkeys(one.workload for one in found))
    factors = {(one.workload, one.beside): one.factor for one in found if one.is_answer}
    rows = [
        (name, *(with_interval(factors.get((name, other)), lambda ratio: f"{ratio:.3f}") for other in names))
        for name in names
    ]
    return Table(("slowdown of", *(f">beside {name}" for name in names)), rows)


def slowdown_sentences(found: Sequence[Slowdown]) -> list[str]:
    """What each workload loses beside each."""
    return [
        f"{one.workload} beside {'itself' if one.beside == one.workload else one.beside}, "
        f"{count(one.summary.point.cores, 'core')} each: {_slowdown_words(one)}"
        for one in found
    ]


def _slowdown_words(one: Slowdown) -> str:
    if not one.is_answer:
        return f"no answer yet, the points are {VERDICT_WORDS[one.summary.verdict]}; {MEASURE_AGAIN}"
    return f"a step takes {with_interval(one.factor, lambda ratio: f'{ratio:.3f}')} times as long as alone"


def slowdown_facts(found: Iterable[Slowdown]) -> list[dict[str, Any]]:
    """The slowdown matrix for JSON, cell by cell."""
    return [
        {
            "workload": one.workload,
            "beside": one.beside,
            "cores": one.summary.point.cores,
            "slowdown": estimate_facts(one.factor),
            "failures": list(one.summary.failures),
            "verdict_code": one.summary.verdict,
        }
        for one in found
    ]


def packs_facts(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """Every workload's divisions and the best of them, for JSON."""
    return [
        {
            **point_settings(choice.series.settings),
            "divided_cores": choice.series.cores,
            "latency_limit": choice.limit,
            "quantile": choice.quantile,
            "best": None if choice.best is None else division_facts(choice.best),
            "promised_best": None if choice.promised is None else division_facts(choice.promised),
            "rivals": [division_words(one) for one in choice.rivals],
            "unknown": [division_words(one) for one in choice.unknown],
            "is_answer": choice.is_answer,
            "divisions": [division_facts(one) for one in choice.series.divisions],
            "sentences": choice_sentences(choice),
        }
        for choice in choices
    ]


def division_facts(division: Division) -> dict[str, Any]:
    """A division for JSON."""
    point = division.point
    return {
        "replicas": point.replicas,
        "cores": point.cores,
        "smt": point.smt,
        "launches": division.summary.launch_count,
        "items_per_second": estimate_facts(division.throughput),
        "promised_items_per_second": estimate_facts(division.promised),
        "kept_of_a_lone_replica": estimate_facts(division.interference),
        **{f"step_seconds_{name}": estimate_facts(division.latency(level)) for name, level in QUANTILES.items()},
        "fairness": division.fairness,
        "slowest_over_fastest": division.slowest_over_fastest,
        "start_skew": division.start_skew,
        "disjoint": division.disjoint,
        "shares": [asdict(one) for one in division.shares],
        "failures": list(division.summary.failures),
        "verdict_code": division.summary.verdict,
    }


def printed() -> Fields:
    """The keys and types of what `pack --json` prints."""
    division = record(
        "Division",
        {"replicas": int, "cores": int, "smt": int, "launches": int, "items_per_second": ESTIMATE},
        {"promised_items_per_second": ESTIMATE, "kept_of_a_lone_replica": ESTIMATE},
        {f"step_seconds_{name}": ESTIMATE for name in QUANTILES},
        {"fairness": NUMBER, "slowest_over_fastest": NUMBER, "start_skew": NUMBER, "disjoint": bool},
        {"shares": ARRAY[record("Sharing", fields_of(Sharing))], "failures": TEXTS, "verdict_code": Verdict},
    )
    packs = record(
        "Packs",
        SETTINGS,
        {"divided_cores": int, "latency_limit": NUMBER, "quantile": float},
        {"best": division | None, "promised_best": division | None, "rivals": TEXTS, "divisions": ARRAY[division]},
        {"unknown": TEXTS, "is_answer": bool},
        sentences=TEXTS,
    )
    slowdown = record(
        "Slowdown",
        {
            "workload": str,
            "beside": str,
            "cores": int,
            "slowdown": ESTIMATE,
            "failures": TEXTS,
            "verdict_code": Verdict,
        },
    )
    return {"packs": ARRAY[packs], "slowdowns": ARRAY[slowdown]}
