"""Tables, sentences and JSON of energy: points, caps, and the most economical sizes."""

from collections.abc import Iterable, Sequence
from itertools import starmap
from statistics import fmean

from scaling.analysis.energy import EnergyFigures
from scaling.analysis.roofline import RooflinePoint, Rooflines
from scaling.analysis.speedup import ScalingPoint
from scaling.analysis.summary import Summary
from scaling.errors import FitError, count
from scaling.features import ObjectiveAnswer, ObjectiveQuestion
from scaling.features.energy.economy import (
    NOT_SLOWED,
    CapEffect,
    CapKinds,
    Economy,
    cap_effects,
    cap_kinds,
    economies,
    work,
)
from scaling.reporting.answers import StudyAnswer
from scaling.reporting.json_types import ARRAY, ESTIMATE, NUMBER, POINT, TEXTS, Facts, Fields, record
from scaling.reporting.points import names_among, point_settings
from scaling.reporting.quantities import Quantity, plain
from scaling.reporting.words import (
    Block,
    Section,
    Table,
    caps_words,
    cores_words,
    estimate_facts,
    figure,
    point_words,
    share,
    with_interval,
)
from scaling.results.evaluation import Evaluation
from scaling.study.axes import GPU
from scaling.study.planning import Point, settings_words

DOMAIN_WORDS = {"package": "processor", "dram": "DRAM", "gpu": "GPU", "board": "machine"}

# JSON keys of the figures of merit.
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

# A network below this share of its roof is limited by neither memory nor arithmetic.
LEAST_ROOF_SHARE = 0.05
NEITHER = "neither"

PREFIXES = ((1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))

RATIO = "{:.3f}".format
SLOWS_WORDS = {True: "slower", False: "no slowdown shown", None: "too few launches"}

NO_OTHER = "no other size takes less energy or less time"
NOT_AVAILABLE = "energy is not available: no meter could be read during these runs"
HINT = (
    "Gross energy is the total that the parts in the table used during the counted steps; net energy excludes the "
    "machine's idle power. No energy is reported for runs that shared the machine with other programs."
)

# The most economical point of a workload, with the name of the workload.
ECONOMY = Facts[tuple[str, Economy]](
    "Economy",
    {
        "sentence": (str, lambda one: economy_sentence(*one)),
        "best": (POINT, lambda one: point_settings(one[1].best.point)),
        "fastest": (POINT, lambda one: point_settings(one[1].fastest.point)),
        "energy_ratio": (ESTIMATE, lambda one: estimate_facts(one[1].energy_ratio)),
        "time_ratio": (ESTIMATE, lambda one: estimate_facts(one[1].time_ratio)),
        "frontier": (ARRAY[POINT], lambda one: [point_settings(member.point) for member in one[1].frontier]),
    },
)
# The effect of a cap, with the roofline of its reference.
CAP_EFFECT = Facts[tuple[CapEffect, RooflinePoint | None]](
    "CapEffect",
    {
        "point": (POINT, lambda one: point_settings(one[0].summary.point)),
        "reference": (POINT, lambda one: point_settings(one[0].reference.point)),
        "time_ratio": (ESTIMATE, lambda one: estimate_facts(one[0].time_ratio)),
        "energy_ratio": (ESTIMATE, lambda one: estimate_facts(one[0].energy_ratio)),
        "energy_delay_ratio": (ESTIMATE, lambda one: estimate_facts(one[0].energy_delay_ratio)),
        "slows": (bool | None, lambda one: one[0].slows),
        "bound_by": (str | None, lambda one: _bound(one[1])),
        "share_of_roof": (NUMBER, lambda one: one[1].roof_share if one[1] else None),
    },
)


def quantities() -> list[Quantity]:
    """The energy of a metered point."""
    kind = record("Energy", dict.fromkeys(ENERGY_KEYS.values(), ESTIMATE), domains=TEXTS) | None
    return [
        plain(
            "energy",
            kind,
            lambda point: energy_facts(point.summary.energy),
            headers=lambda points: (">energy/item", ">power") if any(one.summary.energy for one in points) else (),
            cells=_energy_cells,
            order=_energy_order,
        )
    ]


def _energy_cells(point: ScalingPoint) -> list[str]:
    energy = point.summary.energy
    return [joules(energy.joules_per_item.value), watts(energy.watts.value)] if energy else ["-", "-"]


def _energy_order(point: ScalingPoint) -> list[object]:
    energy = point.summary.energy
    return [energy.joules_per_item, energy.watts] if energy else []


def section(result: Evaluation) -> Section | None:
    """The section on energy; None if no point was metered."""
    energies, effects = energy_table(result.summaries), caps_table(result.subject(cap_effects), result.rooflines)
    if not energies.rows:
        return None
    caption = "Energy, power and energy-delay products of every metered point"
    blocks = [Block(sentences=energy_sentences(result.summaries, result.rooflines), table=energies, caption=caption)]
    if effects.rows:
        blocks.append(Block(table=effects, caption="Time and energy under every cap, relative to the loosest"))
    return Section("energy", "Energy", "Energy", [*blocks, Block(hint=HINT)])


def objective(question: ObjectiveQuestion) -> ObjectiveAnswer:
    """The size with the least energy, and the effect of caps."""
    if any(target is not None for target in question.targets.values()):
        raise FitError("--objective energy cannot be combined with a target; ask one question at a time")
    summaries, rooflines = question.summaries, question.rooflines
    tables = energy_table(summaries), caps_table(cap_effects(summaries), rooflines)
    return ObjectiveAnswer(
        energy_sentences(summaries, rooflines) or [NOT_AVAILABLE],
        [table for table in tables if table.rows],
        economy_facts(summaries, rooflines),
        any(summary.energy for summary in summaries),
    )


def printed() -> Fields:
    """The keys and types of `capacity --objective energy --json`."""
    return {"economies": ARRAY[ECONOMY.record], "caps": ARRAY[CAP_EFFECT.record]}


def energy_table(summaries: Sequence[Summary]) -> Table:
    """The figures of merit of every metered point, with intervals over launches."""
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
            " and ".join(DOMAIN_WORDS[domain] for domain in energy.domains),
        )
        for one in summaries
        if (energy := one.energy)
    ]
    columns = ("point", ">energy/step", ">net", ">energy/item", ">power", ">peak", ">EDP", ">ED²P", "of")
    return Table(columns, rows)


def in_unit(value: float, unit: str) -> str:
    """A value with the prefix that fits it: '12.3 mJ·s'."""
    factor, prefix = next((one for one in PREFIXES if abs(value) >= one[0]), PREFIXES[-1])
    return f"{figure(value / factor)} {prefix}{unit}"


def joules(value: float) -> str:
    """Energy with the unit that fits it."""
    return in_unit(value, "J")


def watts(value: float) -> str:
    """Power in watts."""
    return f"{value:.0f} W" if value >= 100 else f"{figure(value)} W"


def energy_sentences(summaries: Sequence[Summary], rooflines: Rooflines = NO_ROOFLINES) -> list[str]:
    """The most economical point of every workload, the effect of caps, and the agreement of meters."""
    effects = cap_effects(summaries)
    about_caps = [*cap_sentences(effects, rooflines), *map(kinds_sentence, cap_kinds(effects))]
    return [*starmap(economy_sentence, _named_economies(summaries)), *about_caps, *agreement_sentences(summaries)]


def kinds_sentence(kinds: CapKinds) -> str:
    """The most economical power cap and the most economical clock cap."""
    best = [min(effects, key=lambda one: one.energy_ratio.value) for effects in (kinds.power, kinds.clock)]
    power, clock = (
        f"takes {RATIO(one.energy_ratio.value)} times the energy and {RATIO(one.time_ratio.value)} times the time "
        f"({', '.join(caps_words(one.summary.point))})"
        for one in best
    )
    point = kinds.power[0].reference.point
    return f"{point.subject}, {size_words(point)}: the best power cap {power}; the best clock cap {clock}"


def agreement_sentences(summaries: Sequence[Summary]) -> list[str]:
    """The difference between the integral of sampled power and counted energy, if meters have both."""
    energies = [launch.energy for one in summaries for launch in one.metered if launch.energy]
    apart = [100 * (energy.sampled_ratio - 1) for energy in energies if energy.sampled_ratio is not None]
    if not apart:
        return []
    mean, most = f"{fmean(apart):+.1f} % on average over {count(len(apart), 'run')}", f"{max(apart, key=abs):+.1f} %"
    return [f"the integral of sampled power differs from the counted energy by {mean} and {most} at most"]


def economy_sentence(name: str, economy: Economy) -> str:
    """'give vgg train 6 cores to save energy: 38 % less for 9 % more time'."""
    points = economy.best.point, economy.fastest.point
    best, fastest = (size_words(point, placed=points[0].placement != points[1].placement) for point in points)
    saved = with_interval(economy.energy_ratio.map(lambda ratio: 1 - ratio), lambda share: f"{100 * share:.0f} %")
    added = with_interval(economy.time_ratio, lambda ratio: f"{100 * (ratio - 1):.0f} %")
    is_fastest = economy.best is economy.fastest
    if not economy.is_shown:
        unshown = f"no answer yet for {name}: no size is shown to save energy compared with {fastest}"
        return f"{unshown}, the fastest" if is_fastest else f"{unshown}; the least energy, with {best}, is {saved} less"
    gain = f"{saved} less for {added} more time than {fastest}, the fastest"
    launches = "; from one launch" if any(one.is_single for one in economy.against) else ""
    return f"give {name} {best} to save energy: {NO_OTHER if is_fastest else gain}{launches}"


def _named_economies(summaries: Iterable[Summary]) -> list[tuple[str, Economy]]:
    """The most economical point of every workload, with the name that distinguishes it from the others."""
    alone = [one for one in summaries if one.point.beside is None]
    names = names_among({work(one.point) for one in alone})
    return [(names[one.subject], one) for one in economies(alone)]


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """The most economical point of every workload, if any point was measured under a cap."""
    is_capped = any(one.point.caps for one in result.summaries)
    return [_study_answer(*one) for one in result.subject(_named_economies)] if is_capped else []


def _study_answer(name: str, economy: Economy) -> StudyAnswer:
    code = "give" if economy.is_shown else "no-answer-yet"
    return StudyAnswer("energy", name, code, economy_sentence(name, economy), economy.is_shown)


def size_words(point: Point, *, placed: bool = False) -> str:
    """The replicas, cores, threads per core, quota, GPU and caps of a point, and its placement if asked for."""
    return ", ".join(size_parts(point, placed=placed))


def size_parts(point: Point, *, placed: bool = False) -> list[str]:
    """The parts of `size_words`."""
    replicas = f"{point.replicas} replicas of " if point.replicas > 1 else ""
    placement = [point.placement] if placed and point.placement else []
    device = ["GPU"] if point.device == GPU else []
    cores = replicas + cores_words(point.cores, point.smt)
    return [cores, *placement, *settings_words(point, ("quota",)), *device, *caps_words(point)]


def caps_table(effects: Sequence[CapEffect], rooflines: Rooflines = NO_ROOFLINES) -> Table:
    """Time, energy and energy-delay product under every cap, and the bound of the uncapped workload by its roofline."""
    rows = [
        (
            point_words(one.summary.point),
            ", ".join(caps_words(one.reference.point)) or "none",
            with_interval(one.time_ratio, RATIO),
            with_interval(one.energy_ratio, RATIO),
            with_interval(one.energy_delay_ratio, RATIO),
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
    """Memory or compute, by the roofline; neither for a network far below its roof."""
    if roofline is None or roofline.bound_by is None or roofline.roof_share is None:
        return None
    return roofline.bound_by if roofline.roof_share >= LEAST_ROOF_SHARE else NEITHER


def cap_sentences(effects: Sequence[CapEffect], rooflines: Rooflines) -> list[str]:
    """For every cap the number of points it slows, and the workloads without a slowdown."""
    by_caps: dict[str, list[CapEffect]] = {}
    for one in effects:
        by_caps.setdefault(", ".join(caps_words(one.summary.point)), []).append(one)
    untested = [caps for caps, members in by_caps.items() if all(one.slows is None for one in members)]
    sentences = [_cap_sentence(caps, by_caps[caps], rooflines) for caps in by_caps if caps not in untested]
    too_few = f"too few launches to see whether these caps slow any workload: {'; '.join(untested)}"
    return [*sentences, too_few] if untested else sentences


def _cap_sentence(caps: str, members: Sequence[CapEffect], rooflines: Rooflines) -> str:
    tested = [one for one in members if one.slows is not None]
    slowed = [one.summary.point.subject for one in tested if one.slows]
    unslowed = [_bounded_subject(one, rooflines) for one in tested if one.summary.point.subject not in slowed]
    names = f"; no slowdown shown: {', '.join(dict.fromkeys(unslowed))}" if unslowed else ""
    limit = f"{100 * (NOT_SLOWED - 1):.0f} %"
    return f"{caps} slows {len(slowed)} of {count(len(tested), 'point')} by more than {limit}{names}"


def _bounded_subject(effect: CapEffect, rooflines: Rooflines) -> str:
    bound = _bound(rooflines.get(effect.reference.point))
    return effect.summary.point.subject + (f" ({bound}-bound)" if bound not in (None, NEITHER) else "")


def energy_facts(energy: EnergyFigures | None) -> dict[str, object] | None:
    """The figures of merit of a point, unrounded; None if it was not metered."""
    if energy is None:
        return None
    values = {key: estimate_facts(getattr(energy, name)) for name, key in ENERGY_KEYS.items()}
    return {**values, "domains": list(energy.domains)}


def economy_facts(summaries: Sequence[Summary], rooflines: Rooflines) -> dict[str, object]:
    """The most economical point of every workload, and the effect of caps, for JSON."""
    effects = [(one, rooflines.get(one.reference.point)) for one in cap_effects(summaries)]
    return {"economies": [*map(ECONOMY.of, _named_economies(summaries))], "caps": [*map(CAP_EFFECT.of, effects)]}
