"""Whether a quantity has one value wherever it is shown: in text, JSON, pages and data frames.

    python -m benchmarks.agreement [DIR…]

Quantities of points are as measured; those of series and sizes are by the curve, and are called so. For every results
folder, all example folders if none is given, each figure is collected from every place that shows it, and those with
several values are listed. The status is 1 where there is one.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scaling.analysis.interference import packed_series
from scaling.analysis.sizing.question import Goal, Question
from scaling.analysis.speedup import ScalingPoint
from scaling.api.results import Results, load
from scaling.api.sizing import fit_sources
from scaling.reporting.answers import study_answer_facts, study_answers
from scaling.reporting.capacity import answer_facts, limits_facts, limits_table
from scaling.reporting.fits import fit_facts, fit_sentence, fits_table
from scaling.reporting.page.page import page_facts
from scaling.reporting.points import point_facts, points_table
from scaling.reporting.words import Table, json_text
from scaling.study.planning import Point

EXAMPLES = Path("docs/examples")
MEASURED = ("step_seconds", "items_per_second", "speedup", "efficiency", "common_speedup", "karp_flatt")
# Values that differ by less are alike: frames and JSON have all digits, tables and sentences three or four.
ALL_DIGITS, SHOWN_DIGITS = 1e-9, 6e-3

Shown = tuple[str, float, float]
Figures = dict[tuple[str, str], list[Shown]]


def main(arguments: Sequence[str]) -> int:
    """Print how many figures each folder shows, in how many places, and those that disagree."""
    folders = [Path(one) for one in arguments] or example_folders()
    disagreeing = 0
    for folder in folders:
        figures = collect(load(folder))
        wrong = disagreements(figures)
        disagreeing += len(wrong)
        places = sum(map(len, figures.values()))
        print(f"{folder!s:44} {len(figures):6} quantities in {places:6} places, {len(wrong)} with several values")
        for name, shown in wrong:
            print(f"  {' of '.join(name)}: {', '.join(f'{value:.6g} in {place}' for place, value, _ in shown)}")
    return int(disagreeing > 0)


def example_folders() -> list[Path]:
    """The example folders that have rows."""
    return sorted({path.parent for path in EXAMPLES.glob("**/rows.jsonl*")})


def disagreements(figures: Figures) -> list[tuple[tuple[str, str], list[Shown]]]:
    """The figures of which two places show values that differ by more than their digits."""
    return [(name, shown) for name, shown in figures.items() if any(_differ(shown[0], other) for other in shown[1:])]


def _differ(one: Shown, other: Shown) -> bool:
    digits = max(one[2], other[2])
    return abs(one[1] - other[1]) > digits * max(abs(one[1]), abs(other[1]))


def collect(results: Results) -> Figures:
    """Every figure by its name and what it is of, with where it is shown."""
    figures: Figures = defaultdict(list)
    for name, of, place, value, digits in _shown(results):
        if value is not None and value == value and abs(value) != float("inf"):
            figures[name, of].append((place, float(value), digits))
    return figures


def _shown(results: Results) -> Iterator[tuple[str, str, str, float | None, float]]:
    source = results.sources[0]
    page = json.loads(json_text({name: _listed(value) for name, value in page_facts(source.evaluation).items()}))
    yield from _of_points(results, source.points, page)
    yield from _of_packs(source.points)
    if source.evaluation.fits:
        yield from _of_curves(results, page)
        yield from _of_sizes(results, page)
    yield from _of_answers(results)


def _listed(value: object) -> object:
    return list(value) if isinstance(value, Iterator) else value


def _of_points(results: Results, points: Sequence[ScalingPoint], page: Mapping[str, Any]) -> Iterator[Any]:
    """What was measured: JSON, page, frame and table."""
    frame = results.points.to_dict("records")
    for point, of_page, row, cells in zip(points, page["points"], frame, _cells(points_table(points)), strict=True):
        facts, of = point_facts(point), _of(point.summary.point)
        for name in MEASURED:
            for end in ("", "_low", "_high"):
                yield f"measured {name}{end}", of, "show --json", facts[name + end], ALL_DIGITS
                yield f"measured {name}{end}", of, "page", of_page.get(name + end), ALL_DIGITS
                yield f"measured {name}{end}", of, "frame", row.get(name + end), ALL_DIGITS
        yield "measured items_per_second", of, "show", _number(cells["items/s"]), SHOWN_DIGITS
        if not point.unknown:
            yield "measured speedup", of, "show", _number(cells.get("speedup", "")), SHOWN_DIGITS


def _of_packs(points: Sequence[ScalingPoint]) -> Iterator[Any]:
    """The rate of a division of cores among replicas, and of the point that it is."""
    for series in packed_series([point.summary for point in points]):
        for division in series.divisions:
            value = division.throughput.value if division.throughput else None
            yield "measured items_per_second", _of(division.point), "pack", value, ALL_DIGITS


def _of_curves(results: Results, page: Mapping[str, Any]) -> Iterator[Any]:
    """The curve of every series: fit as sentence, table, JSON and frame, and the page."""
    fits = fit_sources(results.sources)
    frame = fits.to_frame().to_dict("records")
    of_page = {one["name"]: one for one in page["series"]}
    for fit, row, cells in zip(fits.series_fits, frame, _cells(fits_table(fits.series_fits)), strict=True):
        of, facts = fit.series.name, fit_facts(fit)
        most = f"{of}, {fit.most_cores:g} cores"
        yield "curve speedup", most, "fit", _number(cells["speedup"]), SHOWN_DIGITS
        sentence = re.search(r"cores are ([\d.e+]+)", fit_sentence(fit))
        yield "curve speedup", most, "fit -v", float(sentence[1]) if sentence else None, SHOWN_DIGITS
        for point in facts["curve"]:
            yield "curve speedup", f"{of}, {point['cores']} cores", "fit --json", point["speedup"]["value"], ALL_DIGITS
        for name, column in (("limit", "limit"), ("rate_at_1", "per s, 1 core"), ("serial_fraction", "serial")):
            values = {"fit --json": facts[name], "page": of_page[of][name]}
            for place, value in values.items():
                yield f"curve {name}", of, place, (value or {}).get("value"), ALL_DIGITS
            yield f"curve {name}", of, "frame", row[name], ALL_DIGITS
            percent = 100.0 if name == "serial_fraction" else 1.0
            shown = _number(cells[column])
            yield f"curve {name}", of, "fit", None if shown is None else shown / percent, SHOWN_DIGITS


def _of_sizes(results: Results, page: Mapping[str, Any]) -> Iterator[Any]:
    """Sizes and landmarks: capacity as table, JSON and frame, the page, and what a question says of a size."""
    limits = results.limits()
    frame = limits.to_frame().to_dict("records")
    rows = zip(limits, page["limits"], frame, _cells(limits_table(list(limits))), strict=True)
    for one, of_page, row, cells in rows:
        of, facts = one.fit.series.name, limits_facts(one)
        own = {level.series.key.smt: level for level in (one.fit.levels or (one.fit,))}
        for name, column in (("speedup_limit", "speedup limit"), ("rate_limit", "limit per s")):
            yield f"curve {name}", of, "capacity --json", facts[name]["value"], ALL_DIGITS
            yield f"curve {name}", of, "page", of_page[name]["value"], ALL_DIGITS
            yield f"curve {name}", of, "frame", row[name], ALL_DIGITS
            yield f"curve {name}", of, "capacity", _number(cells[column]), SHOWN_DIGITS
        if len(own) == 1:
            yield "curve limit", of, "capacity --json", facts["speedup_limit"]["value"], ALL_DIGITS
    for answer in results.answer(Question(Goal.CHEAPEST, 1.0)):
        allocations = [answer_facts(answer)["allocation"], *answer_facts(answer)["neighbours"]]
        for size in filter(None, allocations):
            name, speedup = answer.fit.series.name, size["cores"] * size["efficiency"]["value"]
            if size["threads"] == 1:
                yield "curve speedup", f"{name}, {size['cores']} cores", "capacity --cheapest", speedup, ALL_DIGITS
            if size["cores"] == size["threads"] == 1:
                yield "curve rate_at_1", name, "capacity --cheapest", size["rate"]["value"], ALL_DIGITS


def _of_answers(results: Results) -> Iterator[Any]:
    """The answer's speedup, which is the measured one of its point unless it says otherwise."""
    evaluation = results.sources[0].evaluation
    series = {one.fit.series.key.settings: one.fit.series.name for one in evaluation.limits}
    for answer in study_answers(evaluation):
        size, facts = answer.size, study_answer_facts(answer)
        if size is None or size.speedup is None or size.at_least:
            continue
        point = replace(size.settings, cores=size.compared or 1, smt=size.threads)
        name, of = "measured common_speedup", _of(point)
        if size.by_curve:
            # That of several threads per core is over one core with one thread, as no other figure is.
            name = "curve speedup" if size.threads == 1 else "curve speedup over 1 × 1"
            of = f"{series[size.settings]}, {size.compared} cores"
        times = re.search(r"([\d.e+]+) times one core", answer.sentence)
        yield name, of, "answer --json", facts["speedup"]["value"], ALL_DIGITS  # type: ignore[index]
        yield name, of, "answer", float(times[1]) if times else None, SHOWN_DIGITS


def _of(point: Point) -> str:
    """A point by all its settings."""
    return str({name: value for name in point.__dataclass_fields__ if (value := getattr(point, name)) is not None})


def _cells(table: Table) -> list[dict[str, str]]:
    headers = [header.removeprefix(">") for header in table.headers]
    return [dict(zip(reversed(headers), reversed(row), strict=True)) for row in table.rows]


def _number(text: str) -> float | None:
    """The first number of a cell; None where it begins with none."""
    match = re.match(r"[≥≤]? ?(\d[\d.e+-]*)", text)
    return float(match[1]) if match else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
