"""The outcome of a search as sentences, table and JSON facts: the winner, its gain, and how to set it."""

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
from scaling.study.planning import Point
from scaling.study.programs import fill
from scaling.study.spec import PROGRAM_MODE, Study, programs_of

STANDING_WORDS = {
    Standing.WINNER: "winner",
    Standing.IN_RACE: "not distinguishable from the best",
    Standing.DROPPED: "dropped, clearly slower",
    Standing.FAILED: "failed",
}
# The number of listed settings besides the named ones.
MOST_LISTED = 12
# Keys of a setting in JSON, besides the values on its axes.
_OVER_DEFAULT = {"over_default": "value", "over_default_low": "low", "over_default_high": "high"}
_FIXED = ("setting", "name", "launches", *_OVER_DEFAULT, "standing", "standing_code")
HINT = (
    "Times are relative to the default and come from all launches. The gain above comes only from the launches after "
    "the winner was chosen."
)


@dataclass(frozen=True, slots=True)
class TunedSettings:
    """A setting to apply: variables, CPUs, XLA, and for a program its command line."""

    environment: tuple[tuple[str, str], ...]
    cpus: str
    intra: int
    inter: int
    jit: bool
    command: tuple[str, ...] | None = None


def settings_of(point: Point, study: Study, cpus: Sequence[int]) -> TunedSettings:
    """The settings of a point; thread counts chosen by the framework are not set."""
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
    """The settings as Python to execute before the framework's first operation."""
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
    pools = {"intra": settings.intra, "inter": settings.inter}
    lines += [f"tf.config.threading.set_{name}_op_parallelism_threads({size})" for name, size in pools.items() if size]
    if settings.jit:
        lines.append("step = tf.function(step, jit_compile=True)  # or model.compile(…, jit_compile=True)")
    return "\n".join(lines)


def section(result: Evaluation) -> Section | None:
    """The section of a search's folder: its answer, its settings, and the winner to paste."""
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
    blocks = [raced]
    if outcome.winner is not None:
        settings = settings_of(search.grid.points[outcome.winner], study, search.cpus[outcome.winner])
        texts = ("\n".join(environment_lines(settings)), paste_python(settings))
        blocks.append(Block(heading="Settings to paste", texts=texts))
    return Section("tuning", "Settings", "Best settings", blocks)


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """The winner of a search's folder; nothing for any other folder."""
    search: Search | None = result.folder.of_features.get(TUNING)
    if search is None:
        return []
    outcome = search.outcome(result.folder.rows)
    known = outcome.winner is not None and outcome.is_answer
    sentence = tuning_answer(outcome, search.grid, search.objective)[0]
    subject = search.grid.points[0].subject
    return [StudyAnswer("settings", subject, "give" if known else "no-answer-yet", sentence, known)]


def setting_words(grid: Grid, setting: int) -> str:
    """A setting in words: its values on the varying axes, and its name, if any."""
    point, values = grid.points[setting], grid.values[setting]
    # By default a framework chooses its threads, and a program has one per CPU.
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
    """The winner with its gain over the default, and the launches behind it."""
    if outcome.winner is None:
        return ["nothing was measured: every launch failed"]
    launches = sum(one.launches for one in outcome.competitors)
    return [
        _verdict(outcome, grid, objective),
        f"{launches} launches measured {len(outcome.competitors)} of {count(len(grid.points), 'setting')}",
        *(
            f"gain over the {grid.names.get(setting, 'other')}: {_times(gain)}"
            for setting, gain in outcome.gains.items()
        ),
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
    others = f"; {outcome.disturbed} more were disturbed" if outcome.disturbed else ""
    launches = f"{outcome.confirmations - outcome.disturbed} launches of both after the choice{others}"
    evidence = f"{_times_the_default(outcome.gain, objective)}, from {launches}"
    if outcome.beaten:
        return f"best for {objective}: {challenger}: {evidence}"
    is_slower = outcome.gain.high is not None and outcome.gain.high < 1
    words = "is slower" if is_slower else "is not shown to be better"
    return f"nothing beats the default for {objective}: the best alternative, {challenger}, {words}: {evidence}"


def _unconfirmed(outcome: Outcome, challenger: str, objective: str) -> str:
    """The best setting of the race, the reason for no answer, and the remedy."""
    raced = next((one.ratio for one in outcome.competitors if one.setting == outcome.challenger), None)
    gain = outcome.gain or (raced.map(lambda ratio: 1 / ratio) if raced else None)
    seen = f", {_times_the_default(gain, objective)}" if gain else ""
    quiet = outcome.confirmations - outcome.disturbed
    why = f"only {quiet} of the {FEWEST_CONFIRMATIONS} confirming launches are done"
    if quiet >= FEWEST_CONFIRMATIONS:
        why = f"the interval of its gain spans more than a factor of {WIDEST_ANSWER:g}"
    disturbed, place = (
        (f" ({outcome.disturbed} were disturbed)", " on a quieter machine") if outcome.disturbed else ("", "")
    )
    remedy = f"run the same command with a larger --budget{place}"
    return f"the best alternative so far is {challenger}{seen}, but {why}{disturbed}, so the default is kept; {remedy}"


def _times_the_default(gain: Estimate, objective: str) -> str:
    """'1.21 times as fast as the default (1.18 to 1.25)'."""
    of = (
        "as fast as the default"
        if objective == Objective.LATENCY
        else f"the {objective.replace('-', ' ')} of the default"
    )
    return _times(gain, f" {of}")


def _times(gain: Estimate, of: str = "") -> str:
    """'1.21 times (1.18 to 1.25)'."""
    ends = interval_alone(gain, lambda value: f"{value:.3f}", joint=" to ")
    return f"{gain.value:.3f} times{of}" + (f" ({ends})" if ends else "")


def tuning_table(outcome: Outcome, grid: Grid) -> Table:
    """The best measured settings, the best first, and all named ones."""
    rows = [
        (
            setting_words(grid, one.setting),
            str(one.launches),
            "" if one.ratio is None else figure(one.ratio.value),
            interval_alone(one.ratio, figure),
            STANDING_WORDS[one.standing],
        )
        for number, one in enumerate(outcome.competitors)
        if number < MOST_LISTED or one.setting in grid.names or one.standing is Standing.WINNER
    ]
    return Table(("setting", ">launches", ">time relative to default", "95 %", "standing"), rows)


def outcome_rows(outcome: Outcome, grid: Grid) -> list[dict[str, object]]:
    """Every measured setting for scripts, the best first."""
    return [
        {
            "setting": setting_words(grid, one.setting),
            "name": grid.names.get(one.setting),
            **{axis: grid.values[one.setting][axis] for axis in grid.values[0]},
            "intra_setting": grid.points[one.setting].intra,
            "inter_setting": grid.points[one.setting].inter,
            "launches": one.launches,
            **{key: one.ratio and getattr(one.ratio, end) for key, end in _OVER_DEFAULT.items()},
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
        "settings": [
            {key: row[key] for key in _FIXED} | {"values": {key: row[key] for key in row if key not in _FIXED}}
            for row in outcome_rows(outcome, grid)
        ],
    }


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
