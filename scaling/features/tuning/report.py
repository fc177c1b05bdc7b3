"""A search over settings in words: the winner, what it gains by how many launches, and how to set it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import WIDEST_ANSWER
from scaling.features.tuning.file import TUNING, Search
from scaling.features.tuning.grid import Grid, Objective
from scaling.features.tuning.search import FEWEST_CONFIRMATIONS, Outcome, Standing
from scaling.machine.cpulist import format_list, parse_list
from scaling.reporting.answers import StudyAnswer
from scaling.reporting.json_types import ARRAY, ESTIMATE, MAP, NUMBER, TEXTS, Fields, record
from scaling.reporting.page.provenance import study_of
from scaling.reporting.words import Block, Section, Table, count, estimate_facts, figure, interval_alone
from scaling.results.evaluation import Evaluation
from scaling.study.planning import PROGRAM_MODE, Point, programs_of
from scaling.study.programs import fill
from scaling.study.spec import Study

STANDING_WORDS = {
    Standing.WINNER: "winner",
    Standing.IN_RACE: "not told apart from the best",
    Standing.DROPPED: "dropped, clearly slower",
    Standing.FAILED: "failed",
}
# Of the settings so many are listed, besides those with names.
MOST_LISTED = 12
HINT = (
    "Times are over that of the default, from all launches of the race and the confirmation; the gain above comes from "
    "the launches that were made after the winner had been chosen."
)


@dataclass(frozen=True, slots=True)
class TunedSettings:
    """A setting as one would set it: variables, CPUs, XLA, and for a program its command line."""

    environment: tuple[tuple[str, str], ...]
    cpus: str
    intra: int
    inter: int
    jit: bool
    command: tuple[str, ...] | None = None


def settings_of(point: Point, study: Study, cpus: Sequence[int]) -> TunedSettings:
    """How to set what a point has; thread counts that the framework chooses are not set."""
    intra, inter = point.threads(point.intra), point.threads(point.inter)
    listed = format_list(frozenset(cpus))
    if point.mode == PROGRAM_MODE:
        threads = intra or point.cores * point.smt
        values = {
            "threads": threads,
            "cores": point.cores,
            "smt": point.smt,
            "cpus": listed,
            "items": 1 if point.items == "default" else point.items,
            "intra": threads,
            "inter": inter or point.cores * point.smt,
        }
        program = programs_of(study)[point.workload]
        command = tuple(fill(word, values) for word in program.argv())
        kept = [(name, value) for name, value in program.env if isinstance(value, str)]
        variables = (*kept, ("OMP_NUM_THREADS", str(threads)))
        return TunedSettings(variables, listed, intra, inter, point.jit, command)
    pools = {"TF_NUM_INTRAOP_THREADS": intra, "OMP_NUM_THREADS": intra, "TF_NUM_INTEROP_THREADS": inter}
    given = tuple((name, str(value)) for name, value in pools.items() if value)
    given += () if point.onednn is None else (("TF_ENABLE_ONEDNN_OPTS", str(int(point.onednn))),)
    return TunedSettings(given, listed, intra, inter, point.jit)


def environment_lines(settings: TunedSettings) -> list[str]:
    """The settings as lines of a shell."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.environment]
    program = shlex.join(settings.command) if settings.command else "python …"
    return [*lines, f"taskset --cpu-list {settings.cpus} {program}"]


def paste_python(settings: TunedSettings) -> str:
    """The settings as Python, to be executed before the framework's first operation."""
    if settings.command is not None:
        return (
            "import os, subprocess\n"
            f"subprocess.run({['taskset', '--cpu-list', settings.cpus, *settings.command]!r}, check=True, "
            f"env=os.environ | {dict(settings.environment)!r})"
        )
    lines = ["import os", f"os.sched_setaffinity(0, {sorted(parse_list(settings.cpus))!r})"]
    onednn = dict(settings.environment).get("TF_ENABLE_ONEDNN_OPTS")
    lines += [] if onednn is None else [f'os.environ["TF_ENABLE_ONEDNN_OPTS"] = "{onednn}"']
    lines += ["import tensorflow as tf"] if settings.intra or settings.inter or settings.jit else []
    if settings.intra:
        lines.append(f"tf.config.threading.set_intra_op_parallelism_threads({settings.intra})")
    if settings.inter:
        lines.append(f"tf.config.threading.set_inter_op_parallelism_threads({settings.inter})")
    if settings.jit:
        lines.append("step = tf.function(step, jit_compile=True)  # or model.compile(…, jit_compile=True)")
    return "\n".join(lines)


def section(result: Evaluation) -> Section | None:
    """The section of a folder that was made by a search: its answer, the settings that raced, the winner to paste."""
    search: Search | None = result.folder.of_features.get(TUNING)
    study = study_of(result.folder.study_toml, result.folder.name)
    if search is None or study is None:
        return None
    outcome = search.outcome(result.folder.rows)
    raced = Block(
        sentences=tuning_answer(outcome, search.grid, search.objective),
        table=tuning_table(outcome, search.grid),
        caption="Settings that raced, the fastest first",
        hint=HINT,
    )
    winner = outcome.winner
    if winner is None:
        return Section("tuning", "Settings", "Best settings", [raced])
    settings = settings_of(search.grid.points[winner], study, search.cpus[winner])
    texts = ("\n".join(environment_lines(settings)), paste_python(settings))
    return Section("tuning", "Settings", "Best settings", [raced, Block(heading="To paste", texts=texts)])


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """The winner of a search; nothing of a folder that no search made."""
    search: Search | None = result.folder.of_features.get(TUNING)
    if search is None:
        return []
    outcome = search.outcome(result.folder.rows)
    known = outcome.winner is not None and outcome.is_answer
    sentence = tuning_answer(outcome, search.grid, search.objective)[0]
    subject = search.grid.points[0].subject
    return [StudyAnswer("settings", subject, "give" if known else "no-answer-yet", sentence, known)]


def setting_words(grid: Grid, setting: int) -> str:
    """A setting in words: what differs between settings, and its name where it has one."""
    point, values = grid.points[setting], grid.values[setting]
    # A framework chooses threads that it is not told; a program then has as many as CPUs.
    is_program = point.mode == PROGRAM_MODE
    chosen = values if is_program else {**values, "intra": point.intra, "inter": point.inter}
    words = [f"{'threads' if is_program and axis == 'intra' else axis} {_value(chosen[axis])}" for axis in grid.varying]
    name = grid.names.get(setting)
    return ", ".join(words) + (f" ({name})" if name else "")


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return {"True": "on", "False": "off"}.get(str(value), str(value))


def tuning_answer(outcome: Outcome, grid: Grid, objective: str) -> list[str]:
    """The winner, its gain over the default, and what that rests on."""
    if outcome.winner is None:
        return ["nothing was measured: every launch failed"]
    launches = sum(one.launches for one in outcome.competitors)
    return [
        _verdict(outcome, grid, objective),
        f"{count(len(outcome.competitors), 'setting')} of {len(grid.points)} measured by {launches} launches",
        *(f"against the {grid.names.get(setting, 'other')}: {_times(gain)}" for setting, gain in outcome.gains.items()),
    ]


def _verdict(outcome: Outcome, grid: Grid, objective: str) -> str:
    assert outcome.winner is not None
    if outcome.challenger is None:
        return f"best for {objective}: {setting_words(grid, outcome.winner)}"
    challenger = setting_words(grid, outcome.challenger)
    if not outcome.is_answer:
        return f"no answer yet for {objective}: {_unconfirmed(outcome, challenger, objective)}"
    if outcome.gain is None:
        return f"best for {objective}: {challenger}; the default failed"
    found = f"{_times_the_default(outcome.gain, objective)}, {_rests_on(outcome)}"
    if outcome.beaten:
        return f"best for {objective}: {challenger}: {found}"
    told = "is slower" if outcome.gain.high is not None and outcome.gain.high < 1 else "is not shown to be better"
    return f"nothing beats the default for {objective}: the best other, {challenger}, {told}: {found}"


def _rests_on(outcome: Outcome) -> str:
    """'from 8 launches of each after it was chosen, 2 others were disturbed'."""
    left_out = f", {outcome.disturbed} others were disturbed" if outcome.disturbed else ""
    return f"from {outcome.confirmations - outcome.disturbed} launches of each after it was chosen{left_out}"


def _unconfirmed(outcome: Outcome, challenger: str, objective: str) -> str:
    """What raced best, why that is no answer, and what to do."""
    raced = next((one.ratio for one in outcome.competitors if one.setting == outcome.challenger), None)
    gain = outcome.gain or (raced.map(lambda ratio: 1 / ratio) if raced else None)
    seen = f", {_times_the_default(gain, objective)} so far" if gain else ""
    quiet = outcome.confirmations - outcome.disturbed
    why = f"{quiet} of the {FEWEST_CONFIRMATIONS} launches that confirm it were made"
    if quiet >= FEWEST_CONFIRMATIONS:
        why = f"its gain is known to more than a factor of {WIDEST_ANSWER:g}"
    disturbed = f", {outcome.disturbed} were disturbed" if outcome.disturbed else ""
    where = " on a quieter machine" if outcome.disturbed else ""
    remedy = f"give the same command with more --budget{where}"
    return f"the best other is {challenger}{seen}; {why}{disturbed}, so the default stays: {remedy}"


def _times_the_default(gain: Estimate, objective: str) -> str:
    """'1.21 times as fast as the default (1.18 to 1.25)'."""
    of = "as fast as the default" if objective == Objective.LATENCY else "what the default does"
    return _times(gain, f" {of}")


def _times(gain: Estimate, of: str = "") -> str:
    """'1.21 times (1.18 to 1.25)'."""
    ends = interval_alone(gain, lambda value: f"{value:.3f}", joint=" to ")
    return f"{gain.value:.3f} times{of}" + (f" ({ends})" if ends else "")


def tuning_table(outcome: Outcome, grid: Grid) -> Table:
    """The settings measured, the best first, those with names among them."""
    shown = [
        one
        for number, one in enumerate(outcome.competitors)
        if number < MOST_LISTED or one.setting in grid.names or one.standing is Standing.WINNER
    ]
    rows = [
        (
            setting_words(grid, one.setting),
            str(one.launches),
            "" if one.ratio is None else figure(one.ratio.value),
            interval_alone(one.ratio, figure),
            STANDING_WORDS[one.standing],
        )
        for one in shown
    ]
    return Table(("setting", ">launches", ">time over default", "95 %", "standing"), rows)


def outcome_rows(outcome: Outcome, grid: Grid) -> list[dict[str, object]]:
    """Every setting that was measured for scripts, the best first."""
    return [
        {
            "setting": setting_words(grid, one.setting),
            "name": grid.names.get(one.setting),
            **{axis: grid.values[one.setting][axis] for axis in grid.values[0]},
            "intra_setting": grid.points[one.setting].intra,
            "inter_setting": grid.points[one.setting].inter,
            "launches": one.launches,
            "over_default": one.ratio.value if one.ratio else None,
            "over_default_low": one.ratio.low if one.ratio else None,
            "over_default_high": one.ratio.high if one.ratio else None,
            "standing": STANDING_WORDS[one.standing],
            "standing_code": one.standing,
        }
        for one in outcome.competitors
    ]


def tuning_facts(outcome: Outcome, grid: Grid, objective: str, settings: TunedSettings | None) -> dict[str, Any]:
    """The answer for scripts."""
    return {
        "objective": objective,
        "answer": "; ".join(tuning_answer(outcome, grid, objective)),
        "winner": None if outcome.winner is None else setting_words(grid, outcome.winner),
        "challenger": None if outcome.challenger is None else setting_words(grid, outcome.challenger),
        "default_beaten": outcome.beaten,
        "gain": estimate_facts(outcome.gain),
        "gains": {
            grid.names.get(setting, str(setting)): estimate_facts(gain) for setting, gain in outcome.gains.items()
        },
        "confirmations": outcome.confirmations,
        "disturbed_confirmations": outcome.disturbed,
        "is_answer": outcome.is_answer,
        "grid_settings": len(grid.points),
        "environment": dict(settings.environment) if settings else {},
        "cpus": settings.cpus if settings else None,
        "jit": settings.jit if settings else None,
        "command": list(settings.command) if settings and settings.command else None,
        "python": paste_python(settings) if settings else None,
        "settings": [_named_settings(row) for row in outcome_rows(outcome, grid)],
    }


_OVER_DEFAULT = ("over_default", "over_default_low", "over_default_high")
_FIXED = ("setting", "name", "launches", *_OVER_DEFAULT, "standing", "standing_code")


def _named_settings(row: dict[str, object]) -> dict[str, object]:
    values = {axis: value for axis, value in row.items() if axis not in _FIXED}
    return {**{key: row[key] for key in _FIXED}, "values": values}


def printed() -> Fields:
    """The keys and types of what `tune --json` prints."""
    setting = record(
        "TunedSetting",
        {"setting": str, "name": str | None, "launches": int, "standing": str, "standing_code": Standing},
        dict.fromkeys(_OVER_DEFAULT, NUMBER),
        values=dict[str, float | str],
    )
    return {
        "objective": str,
        "answer": str,
        "winner": str | None,
        "challenger": str | None,
        "default_beaten": bool,
        "gain": ESTIMATE,
        "gains": MAP[str, ESTIMATE],
        "confirmations": int,
        "disturbed_confirmations": int,
        "is_answer": bool,
        "grid_settings": int,
        "environment": dict[str, str],
        "cpus": str | None,
        "jit": bool | None,
        "command": TEXTS | None,
        "python": str | None,
        "settings": ARRAY[setting],
    }
