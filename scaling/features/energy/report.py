"""Energy as tables, sentences and JSON facts: of points, of caps, and which point is the most economical."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from statistics import fmean

from scaling.analysis.energy import EnergyFigures
from scaling.analysis.estimates import Estimate
from scaling.analysis.roofline import RooflinePoint, Rooflines
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import Summary
from scaling.errors import FitError, count
from scaling.features import ObjectiveAnswer, ObjectiveQuestion
from scaling.features.energy.economy import NOT_SLOWED, CapEffect, CapKinds, Economy, cap_effects, cap_kinds, economies
from scaling.reporting.answers import StudyAnswer
from scaling.reporting.json_types import ARRAY, ESTIMATE, NUMBER, POINT, TEXTS, Fields, record
from scaling.reporting.points import point_settings
from scaling.reporting.quantities import Quantity, plain
from scaling.reporting.words import (
    Block,
    Section,
    Table,
    caps_words,
    estimate_facts,
    figure,
    point_words,
    share,
    with_interval,
)
from scaling.results.evaluation import Evaluation
from scaling.study.planning import Point
from scaling.study.spec import GPU

# What energy is of, by the domains of meters.
DOMAIN_WORDS = {"package": "processor", "dram": "DRAM", "gpu": "GPU", "board": "machine"}

# The figures of merit by the keys they have in JSON.
ENERGY_KEYS = {
    "joules": "joules_per_step",
    "net_joules": "net_joules_per_step",
    "joules_per_item": "joules_per_item",
    "energy_delay": "energy_delay",
    "energy_delay_squared": "energy_delay_squared",
    "watts": "watts",
    "peak_watts": "peak_watts",
    "sampled_ratio": "sampled_over_counted",
}

NO_ROOFLINES: Rooflines = {}

# Below this share of its roof, a network waits for something else than memory or arithmetic.
LEAST_ROOF_SHARE = 0.05
NEITHER = "neither"

PREFIXES = ((1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))

# What a cap does to the time of a step.
SLOWS_WORDS = {True: "slower", False: "no slowdown shown", None: "too few launches to tell"}

NOT_AVAILABLE = "energy: not available: no meter of this machine could be read for a run of these"


HINT = (
    "Energy is that of the counted steps, gross, of the parts that the table names; net is without what the "
    "machine takes when idle. It is not given to a run beside which others used the machine."
)


def quantities() -> list[Quantity]:
    """The energy of a point that was metered."""
    kind = record("Energy", dict.fromkeys(ENERGY_KEYS.values(), ESTIMATE), domains=TEXTS) | None
    return [
        plain(
            "energy",
            kind,
            lambda point: energy_facts(point.summary.energy),
            headers=lambda points: (">energy/item", ">power") if any(one.summary.energy for one in points) else (),
            cells=_energy_cells,
        )
    ]


def _energy_cells(point: ScalingPoint) -> list[str]:
    energy = point.summary.energy
    return ["-", "-"] if energy is None else [joules(energy.joules_per_item.value), watts(energy.watts.value)]


def section(result: Evaluation) -> Section | None:
    """What a page says of energy; None where nothing was metered."""
    energies, effects = energy_table(result.summaries), caps_table(result.subject(cap_effects), result.rooflines)
    if not energies.rows:
        return None
    blocks = [
        Block(
            sentences=energy_sentences(result.summaries, result.rooflines),
            table=energies,
            caption="Energy, power and energy-delay products of every point that was metered",
        ),
        Block(table=effects, caption="Time and energy under every cap, over those without it"),
        Block(hint=HINT),
    ]
    return Section("energy", "Energy", "Energy", [block for block in blocks if block.table is None or block.table.rows])


def objective(question: ObjectiveQuestion) -> ObjectiveAnswer:
    """Which size takes the least energy, and what caps do."""
    if any(target is not None for target in question.targets.values()):
        raise FitError("--objective energy is a question of its own; ask one question at a time")
    summaries, rooflines = question.summaries, question.rooflines
    tables = energy_table(summaries), caps_table(cap_effects(summaries), rooflines)
    return ObjectiveAnswer(
        energy_sentences(summaries, rooflines) or [NOT_AVAILABLE],
        [table for table in tables if table.rows],
        economy_facts(summaries, point_settings, rooflines),
        any(summary.energy for summary in summaries),
    )


def printed() -> Fields:
    """The keys and types of what `capacity --objective energy --json` prints."""
    economy = record(
        "Economy",
        {"sentence": str, "best": POINT, "fastest": POINT, "frontier": ARRAY[POINT]},
        dict.fromkeys(("energy_ratio", "time_ratio"), ESTIMATE),
    )
    effect = record(
        "CapEffect",
        {"point": POINT, "reference": POINT, "slows": bool | None, "bound_by": str | None, "share_of_roof": NUMBER},
        dict.fromkeys(("time_ratio", "energy_ratio", "energy_delay_ratio"), ESTIMATE),
    )
    return {"economies": ARRAY[economy], "caps": ARRAY[effect]}


def energy_table(summaries: Sequence[Summary]) -> Table:
    """The figures of merit of every point that was metered, with intervals over launches."""
    rows = [
        (
            point_words(one.point),
            with_interval(energy.joules, joules),
            "-" if energy.net_joules is None else joules(energy.net_joules.value),
            with_interval(energy.joules_per_item, joules),
            with_interval(energy.watts, watts),
            "-" if energy.peak_watts is None else watts(energy.peak_watts.value),
            with_interval(energy.energy_delay, lambda value: in_unit(value, "J·s")),
            with_interval(energy.energy_delay_squared, lambda value: in_unit(value, "J·s²")),
            domain_words(energy),
        )
        for one in summaries
        if (energy := one.energy)
    ]
    columns = ("point", ">energy/step", ">net", ">energy/item", ">power", ">peak", ">EDP", ">ED²P", "of")
    return Table(columns, rows)


def domain_words(energy: EnergyFigures) -> str:
    """What energy is of: 'processor and GPU'."""
    return " and ".join(DOMAIN_WORDS[domain] for domain in energy.domains)


def in_unit(value: float, unit: str) -> str:
    """A value with the prefix of its unit that fits it: '12.3 mJ·s'."""
    fitting = next((one for one in PREFIXES if abs(value) >= one[0]), PREFIXES[-1])
    return f"{figure(value / fitting[0])} {fitting[1]}{unit}"


def joules(value: float) -> str:
    """Energy with the unit that fits it."""
    return in_unit(value, "J")


def watts(value: float) -> str:
    """Power in watts."""
    return f"{value:.0f} W" if value >= 100 else f"{figure(value)} W"


def energy_sentences(summaries: Sequence[Summary], rooflines: Rooflines = NO_ROOFLINES) -> list[str]:
    """The most economical point of every workload, which workloads caps do not slow, and whether meters agree."""
    effects = cap_effects(summaries)
    about_caps = [*cap_sentences(effects, rooflines), *map(kinds_sentence, cap_kinds(effects))]
    return [*map(economy_sentence, economies(summaries)), *about_caps, *agreement_sentences(summaries)]


def kinds_sentence(kinds: CapKinds) -> str:
    """The most economical cap of power beside the most economical cap of the clock."""
    best = [min(effects, key=lambda one: one.energy_ratio.value) for effects in (kinds.power, kinds.clock)]
    power, clock = (
        f"{ratio_words(one.energy_ratio.value)} of the energy in {ratio_words(one.time_ratio.value)} of the time "
        f"({', '.join(caps_words(one.summary.point))})"
        for one in best
    )
    point = kinds.power[0].reference.point
    return f"{point.subject}, {size_words(point)}: at best, power caps take {power}, clock caps {clock}"


def agreement_sentences(summaries: Sequence[Summary]) -> list[str]:
    """How far the integral of sampled power is from the energy counted meanwhile, where meters know both."""
    energies = [launch.energy for one in summaries for launch in one.metered if launch.energy]
    apart = [energy.sampled_ratio - 1 for energy in energies if energy.sampled_ratio is not None]
    if not apart:
        return []
    mean, widest = fmean(apart), max(apart, key=abs)
    launches = f"over {count(len(apart), 'run')}, and by {100 * widest:+.1f} % in the one furthest off"
    return [f"the integral of sampled power differs from the energy counted by {100 * mean:+.1f} % {launches}"]


def economy_sentence(economy: Economy) -> str:
    """'give vgg train 6 cores to save energy: 38 % less for 9 % more time'."""
    given = f"give {economy.subject.subject} {size_words(economy.best.point)} to save energy"
    if economy.best is economy.fastest:
        return f"{given}: no other size takes less energy or less time"
    saved = with_interval(economy.energy_ratio.map(lambda ratio: 1 - ratio), lambda share: f"{100 * share:.0f} %")
    added = with_interval(economy.time_ratio, lambda ratio: f"{100 * (ratio - 1):.0f} %")
    fastest = size_words(economy.fastest.point)
    launches = "; from one launch" if economy.energy_ratio.low is None else ""
    return f"{given}: {saved} less for {added} more time than {fastest}, the fastest{launches}"


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """The most economical point of every workload that was measured under caps; nothing where there are none."""
    if not any(any(one.point.caps) for one in result.summaries):
        return []
    return [
        StudyAnswer("energy", one.subject.subject, "give", economy_sentence(one), True)
        for one in result.subject(economies)
    ]


def size_words(point: Point) -> str:
    """What a workload is given: its cores, replicas and caps."""
    return ", ".join(size_parts(point))


def size_parts(point: Point) -> list[str]:
    """The same, one by one."""
    replicas = f"{point.replicas} replicas of " if point.replicas > 1 else ""
    return [replicas + count(point.cores, "core"), *(["GPU"] if point.device == GPU else []), *caps_words(point)]


def caps_table(effects: Sequence[CapEffect], rooflines: Rooflines = NO_ROOFLINES) -> Table:
    """What every cap does to every workload: time, energy and energy-delay product over those without it.

    Beside it, by the roofline, whether memory or arithmetic bounds the workload without the cap.
    """
    rows = [
        (
            point_words(one.summary.point),
            ", ".join(caps_words(one.reference.point)) or "none",
            with_interval(one.time_ratio, ratio_words),
            with_interval(one.energy_ratio, ratio_words),
            with_interval(one.energy_delay_ratio, ratio_words),
            SLOWS_WORDS[one.slows],
            _bound_words(rooflines.get(one.reference.point)),
        )
        for one in effects
    ]
    return Table(("under a cap", "against", ">time", ">energy", ">EDP", "", "bound by (roofline)"), rows)


def _bound_words(roofline: RooflinePoint | None) -> str:
    """'memory, 46 % of roof'."""
    bound = _bound(roofline)
    if roofline is None or bound is None or roofline.roof_share is None:
        return "not available"
    return f"{bound}, {share(roofline.roof_share)} of roof"


def _bound(roofline: RooflinePoint | None) -> str | None:
    """What bounds a network; one far below its roof is held back by neither memory nor arithmetic."""
    if roofline is None or roofline.bound_by is None or roofline.roof_share is None:
        return None
    return roofline.bound_by if roofline.roof_share >= LEAST_ROOF_SHARE else NEITHER


def ratio_words(ratio: float) -> str:
    """A ratio to the third digit."""
    return f"{ratio:.3f}"


def cap_sentences(effects: Sequence[CapEffect], rooflines: Rooflines = NO_ROOFLINES) -> list[str]:
    """For every cap how many points it slows, and the workloads of which it slows none, by what bounds them."""
    by_caps: dict[str, list[CapEffect]] = {}
    for one in effects:
        by_caps.setdefault(", ".join(caps_words(one.summary.point)), []).append(one)
    untold = [caps for caps, members in by_caps.items() if all(one.slows is None for one in members)]
    sentences = [_cap_sentence(caps, by_caps[caps], rooflines) for caps in by_caps if caps not in untold]
    too_few = f"too few launches to tell which workloads these slow: {'; '.join(untold)}"
    return [*sentences, too_few] if untold else sentences


def _cap_sentence(caps: str, members: Sequence[CapEffect], rooflines: Rooflines) -> str:
    told = [one for one in members if one.slows is not None]
    slowed = [one.summary.point.subject for one in told if one.slows]
    unslowed = [_bounded_subject(one, rooflines) for one in told if one.summary.point.subject not in slowed]
    names = f"; no slowdown shown: {', '.join(dict.fromkeys(unslowed))}" if unslowed else ""
    limit = f"{100 * (NOT_SLOWED - 1):.0f} %"
    return f"{caps} slows {len(slowed)} of {count(len(told), 'point')} by more than {limit}{names}"


def _bounded_subject(effect: CapEffect, rooflines: Rooflines) -> str:
    bound = _bound(rooflines.get(effect.reference.point))
    return effect.summary.point.subject + (f" ({bound}-bound)" if bound not in (None, NEITHER) else "")


def energy_facts(energy: EnergyFigures | None) -> dict[str, object] | None:
    """The figures of merit of a point, unrounded; None where it was not metered."""
    if energy is None:
        return None
    names = [one.name for one in fields(EnergyFigures) if one.name != "domains"]
    return {**{ENERGY_KEYS[name]: _facts(getattr(energy, name)) for name in names}, "domains": list(energy.domains)}


def _facts(estimate: Estimate | None) -> dict[str, float | None]:
    return estimate_facts(estimate)


def economy_facts(
    summaries: Sequence[Summary], settings: Callable[[Point], dict[str, object]], rooflines: Rooflines = NO_ROOFLINES
) -> dict[str, object]:
    """The most economical point of every workload, and what caps do."""
    return {
        "economies": [
            {
                "sentence": economy_sentence(one),
                "best": settings(one.best.point),
                "fastest": settings(one.fastest.point),
                "energy_ratio": estimate_facts(one.energy_ratio),
                "time_ratio": estimate_facts(one.time_ratio),
                "frontier": [settings(member.point) for member in one.frontier],
            }
            for one in economies(summaries)
        ],
        "caps": [
            {
                "point": settings(one.summary.point),
                "reference": settings(one.reference.point),
                "time_ratio": estimate_facts(one.time_ratio),
                "energy_ratio": estimate_facts(one.energy_ratio),
                "energy_delay_ratio": estimate_facts(one.energy_delay_ratio),
                "slows": one.slows,
                **_bound_facts(rooflines.get(one.reference.point)),
            }
            for one in cap_effects(summaries)
        ],
    }


def _bound_facts(roofline: RooflinePoint | None) -> dict[str, object]:
    return {
        "bound_by": _bound(roofline),
        "share_of_roof": roofline.roof_share if roofline else None,
    }
