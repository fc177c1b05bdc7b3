"""The outcome of a search in words, as a table and as JSON, and `tuning.json`: the winner, its gain, how to set it.

`scaling tune` makes folders with `tuning.json`, the grid of a search and the outcome of its rows; their rows name the
cohorts of the race and of the confirmation.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from scaling.analysis.estimates import Estimate
from scaling.analysis.rules import WIDEST_ANSWER
from scaling.errors import StoreError, excerpt
from scaling.features.tuning.grid import SEARCHED, Grid, Objective
from scaling.features.tuning.search import (
    FEWEST_CONFIRMATIONS,
    CohortLaunch,
    Competitor,
    Outcome,
    Space,
    Standing,
    cohort_logs,
    outcome,
    space,
)
from scaling.machine.topology import HIGHEST_CPU, Cpus, format_list, parse_list
from scaling.reporting.answers import StudyAnswer
from scaling.reporting.json_types import ARRAY, ESTIMATE, MAP, NUMBER, TEXTS, Facts, Fields
from scaling.reporting.page.provenance import study_of
from scaling.reporting.words import Block, Section, Table, count, estimate_facts, figure, interval_alone
from scaling.results.evaluation import Evaluation
from scaling.results.files import read_regular_text, replace_file
from scaling.results.rows import Row, planned_launch
from scaling.study.axes import INTER_VARIABLES, INTRA_VARIABLES, PROGRAM_MODE, axis_variables
from scaling.study.limits import is_plausible
from scaling.study.planning import Point
from scaling.study.programs import fill
from scaling.study.spec import Study, programs_of

TUNING = "tuning.json"
STANDING_WORDS = {
    Standing.WINNER: "winner",
    Standing.IN_RACE: "not distinguishable from the best",
    Standing.DROPPED: "dropped, clearly slower",
    Standing.FAILED: "failed",
}
# The quantity that each objective minimizes.
TIME_WORDS: dict[str, str] = {
    Objective.LATENCY: "time",
    Objective.THROUGHPUT: "time per item",
    Objective.THROUGHPUT_PER_CORE: "core time per item",
}
# A name that a shell can assign to.
SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The number of listed settings besides the named ones.
MOST_LISTED = 12
HINT = (
    "Times are relative to the default and come from all launches. The gain above comes only from the launches after "
    "the winner was chosen."
)


@dataclass(frozen=True, slots=True)
class Search:
    """The settings of a search, the CPUs of each, and the objective."""

    grid: Grid
    cpus: tuple[Cpus, ...]
    objective: Objective = Objective.LATENCY

    @property
    def space(self) -> Space:
        """The space of the settings."""
        return space(self.grid.values, self.grid.named)

    def outcome(self, rows: Iterable[Row]) -> Outcome:
        """The outcome of rows."""
        return outcome(self.space, cohort_logs(map(cohort_launch, rows), self.grid.points, self.objective))


def cohort_launch(row: Row) -> CohortLaunch:
    """The launch of a row with its cohort."""
    return CohortLaunch(planned_launch(row), row.run.cohort)


def write_search(folder: Path, search: Search) -> None:
    """Store a search beside its rows."""
    replace_file(folder / TUNING, msgspec.json.format(msgspec.json.encode(search), indent=1).decode() + "\n")


def read_search(folder: Path) -> Search:
    """Read the search of a folder."""
    path = folder / TUNING
    try:
        search = msgspec.json.decode(read_regular_text(path), type=Search)
    except msgspec.MsgspecError as error:
        raise StoreError(f"{path} is not a valid search: {error}; remove it") from error
    if problem := next(_problems(search), None):
        raise StoreError(f"{path} is not a valid search: {problem}; remove it")
    return search


def _problems(search: Search) -> Iterator[str]:
    """The contradictions in a search, which may come from anybody."""
    grid = search.grid
    if not len(grid.points) == len(grid.values) == len(search.cpus) > 0:
        yield "its lists differ in length"
    if any(setting.keys() != grid.values[0].keys() for setting in grid.values[1:]):
        yield "its settings differ in their axes"
    if not all(0 <= named < len(grid.points) for named in grid.names):
        yield "it names a setting that it does not have"
    if not all(is_plausible(value) for setting in grid.values for value in setting.values()):
        yield "a value of its settings is too large, too small or too long"
    if not all(0 <= cpu <= HIGHEST_CPU for cpus in search.cpus for cpu in cpus):
        yield f"it has a CPU number that is not from 0 to {HIGHEST_CPU}"


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
        program = programs_of(study).get(point.workload)
        if program is None:
            raise StoreError(
                f"the search has a program '{excerpt(point.workload)}', which its study lacks; repeat the search"
            )
        command = tuple(fill(word, values) for word in program.argv())
        kept = [(name, value) for name, value in program.env if isinstance(value, str)]
        variables = (*kept, ("OMP_NUM_THREADS", str(threads)), *axis_variables(point, SEARCHED).items())
        return TunedSettings(variables, listed, intra, inter, point.jit, command)
    pools = {"TF_NUM_INTRAOP_THREADS": intra, "OMP_NUM_THREADS": intra, "TF_NUM_INTEROP_THREADS": inter}
    given = {name: str(value) for name, value in pools.items() if value} | axis_variables(point, SEARCHED)
    return TunedSettings(tuple(given.items()), listed, intra, inter, point.jit)


def environment_lines(settings: TunedSettings) -> list[str]:
    """The settings as lines of a shell."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.environment if SHELL_NAME.match(name)]
    others = [f"{name}={value}" for name, value in settings.environment if not SHELL_NAME.match(name)]
    # A shell has no assignment for other names, but `env` has.
    before = f"{shlex.join(['env', *others])} " if others else ""
    program = shlex.join(settings.command) if settings.command else "python …"
    return [*lines, f"{before}taskset --cpu-list {settings.cpus} {program}"]


def paste_python(settings: TunedSettings) -> str:
    """The settings as Python to execute before the framework's first operation."""
    if settings.command is not None:
        return (
            "import os, subprocess\n"
            f"subprocess.run({['taskset', '--cpu-list', settings.cpus, *settings.command]!r}, check=True, "
            f"env=os.environ | {dict(settings.environment)!r})"
        )
    lines = ["import os", f"os.sched_setaffinity(0, {sorted(parse_list(settings.cpus))!r})"]
    others = [pair for pair in settings.environment if pair[0] not in (*INTRA_VARIABLES, *INTER_VARIABLES)]
    lines += [f'os.environ["{name}"] = "{value}"' for name, value in others]
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
        table=tuning_table(outcome, search.grid, search.objective),
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
    pools = {} if is_program else {"intra": point.intra, "inter": point.inter}
    chosen = {**values, **pools, "quota": point.quota or "none"}
    words = [
        f"{'threads' if is_program and axis == 'intra' else axis} {_value(chosen[axis])}" for axis in grid.searched
    ]
    name = grid.names.get(setting)
    return ", ".join(words) + (f" ({name})" if name else "")


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return {"True": "on", "False": "off"}.get(str(value), str(value))


def tuning_answer(outcome: Outcome, grid: Grid, objective: str) -> list[str]:
    """The winner with its gain over the default, and the launches behind it."""
    if not outcome.competitors:
        return [f"no answer yet for {objective}: too few settings were launched; run the same command to continue"]
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
    others = f"; disturbed: {outcome.disturbed} more" if outcome.disturbed else ""
    launches = f"{outcome.confirmations - outcome.disturbed} launches of each of the two after the choice{others}"
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
        (f" (disturbed: {outcome.disturbed})", " on a quieter machine") if outcome.disturbed else ("", "")
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


def tuning_table(outcome: Outcome, grid: Grid, objective: str = Objective.LATENCY) -> Table:
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
    return Table(("setting", ">launches", f">{TIME_WORDS[objective]} relative to default", "95 %", "standing"), rows)


SETTING = Facts[tuple[Grid, Competitor]](
    "TunedSetting",
    {
        "setting": (str, lambda one: setting_words(one[0], one[1].setting)),
        "name": (str | None, lambda one: one[0].names.get(one[1].setting)),
        "launches": (int, lambda one: one[1].launches),
        "over_default": (NUMBER, lambda one: one[1].ratio and one[1].ratio.value),
        "over_default_low": (NUMBER, lambda one: one[1].ratio and one[1].ratio.low),
        "over_default_high": (NUMBER, lambda one: one[1].ratio and one[1].ratio.high),
        "standing": (str, lambda one: STANDING_WORDS[one[1].standing]),
        "standing_code": (Standing, lambda one: one[1].standing),
        "values": (dict[str, float | str], lambda one: _values(one[0], one[1].setting)),
    },
)


def _values(grid: Grid, setting: int) -> dict[str, object]:
    point = grid.points[setting]
    return {**grid.values[setting], "intra_setting": point.intra, "inter_setting": point.inter}


def outcome_rows(outcome: Outcome, grid: Grid) -> list[dict[str, object]]:
    """Every measured setting for scripts, the best first."""
    rows = [SETTING.of((grid, one)) for one in outcome.competitors]
    return [{"setting": row.pop("setting"), "name": row.pop("name"), **row.pop("values"), **row} for row in rows]


class TunedAnswer(NamedTuple):
    """The outcome of a search, and the settings of its winner."""

    outcome: Outcome
    grid: Grid
    objective: str
    settings: TunedSettings | None


TUNED = Facts[TunedAnswer](
    "Tuned",
    {
        "objective": (str, lambda one: one.objective),
        "answer": (str, lambda one: "; ".join(tuning_answer(*one[:3]))),
        "winner": (str | None, lambda one: _words_of(one.grid, one.outcome.winner)),
        "challenger": (str | None, lambda one: _words_of(one.grid, one.outcome.challenger)),
        "default_beaten": (bool, lambda one: one.outcome.beaten),
        "gain": (ESTIMATE, lambda one: estimate_facts(one.outcome.gain)),
        "gains": (
            MAP[str, ESTIMATE],
            lambda one: {
                one.grid.names.get(setting, str(setting)): estimate_facts(gain)
                for setting, gain in one.outcome.gains.items()
            },
        ),
        "confirmations": (int, lambda one: one.outcome.confirmations),
        "disturbed_confirmations": (int, lambda one: one.outcome.disturbed),
        "is_answer": (bool, lambda one: one.outcome.is_answer),
        "grid_settings": (int, lambda one: len(one.grid.points)),
        "environment": (dict[str, str], lambda one: dict(one.settings.environment) if one.settings else {}),
        "cpus": (str | None, lambda one: one.settings and one.settings.cpus),
        "jit": (bool | None, lambda one: one.settings and one.settings.jit),
        "command": (TEXTS | None, lambda one: [*((one.settings and one.settings.command) or ())] or None),
        "python": (str | None, lambda one: one.settings and paste_python(one.settings)),
        "settings": (
            ARRAY[SETTING.record],
            lambda one: [SETTING.of((one.grid, competitor)) for competitor in one.outcome.competitors],
        ),
    },
)


def _words_of(grid: Grid, setting: int | None) -> str | None:
    return None if setting is None else setting_words(grid, setting)


def printed() -> Fields:
    """The keys and types of what `tune --json` prints."""
    return TUNED.types
