"""A study as a frozen value from TOML or Python, checked once, and all that follows from it alone. Pure."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from itertools import product
from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from scaling.errors import StudyError, excerpt
from scaling.features import features, resolve
from scaling.machine.placement import EXPLICIT, POLICIES
from scaling.study import axes
from scaling.study.axes import AXES, CONTROLS, CPU, LOADS, PROGRAM_MODE, Applies, Count, Data, Device, Items, Threads
from scaling.study.frameworks import TENSORFLOW, Framework
from scaling.study.keys import (
    Key,
    as_list,
    counts,
    did_you_mean,
    given_keys,
    keyed,
    keys_of,
    parse_toml,
)
from scaling.study.limits import LONGEST_TEXT
from scaling.study.privacy import without_secrets
from scaling.study.programs import FromShell, Program
from scaling.study.workload import Command, workload

# The most rounds of a launch with processes without a quiet turn, as a multiple of the study's rounds.
ROUNDS_FACTOR = 2

# The name of a study names its folder, and names in a file system have at most 255 bytes.
LONGEST_NAME = 100

Word = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
# The smallest quota of the kernel is one millisecond per period of 100 ms, a hundredth of a CPU.
Quota = Annotated[float, Meta(ge=0.01, le=65536)]
Watts = Annotated[float, Meta(gt=0, le=1_000_000)]
Mhz = Annotated[float, Meta(gt=0, le=100_000)]
Rate = Annotated[float, Meta(gt=0, le=1e12)]
Start = Literal["spawn", "fork"]
Mode = Literal["train", "infer", "run"]

ONE_OR_MORE = Meta(min_length=1)
Counts = Annotated[tuple[Count, ...], ONE_OR_MORE]
Names = tuple[Word, ...]
Words = Annotated[Names, ONE_OR_MORE]
ThreadsList = Annotated[tuple[Threads, ...], ONE_OR_MORE]
WattsList = Annotated[tuple[Watts | Literal["none"], ...], ONE_OR_MORE]
MhzList = Annotated[tuple[Mhz | Literal["none"], ...], ONE_OR_MORE]

WORKLOADS = 'names such as "calibrated", "file.py:factory" or "command: ./prog"'


def _programs(value: object) -> tuple[Program, ...]:
    """Tables as programs; ValueError if the value is not a list of tables."""
    if not isinstance(value, list | tuple) or not all(isinstance(table, dict | Program) for table in value):
        raise ValueError("not a list of tables")
    return tuple(table if isinstance(table, Program) else Program(**table) for table in value)


def program_tables() -> dict[str, type[Program]]:
    """The types of programs by their table in a study: the core's and the features'."""
    added = {name: resolve(function) for feature in features() for name, function in feature.programs.items()}
    return {Program.table: Program, **cast("dict[str, type[Program]]", added)}


def _unknown_key_hint(value: object) -> str:
    """A number under an unknown key was probably meant for the workload."""
    if isinstance(value, int | float):
        return '; a workload\'s own options follow its name, as in workloads = ["calibrated serial=0.2"]'
    return f"; the keys are {', '.join(keys_of(Study))}"


@keyed(StudyError, _unknown_key_hint)
class Study:
    """Workloads, axes and precision of a measurement; StudyError for a wrong value."""

    name: Annotated[Word, Key("text")] = "study"
    question: Annotated[str, Key("text")] = ""
    machine_name: Annotated[Word | None, Key("text, stored instead of the host's name")] = None
    workloads: Annotated[Names, Key(WORKLOADS, as_list, axis=True)] = ()
    programs: Annotated[
        tuple[Program, ...], Key("tables with a name and a command", _programs, axis=True, checked=True)
    ] = ()
    beside: Annotated[Names, axes.BESIDE.key] = ()
    modes: Annotated[tuple[Mode, ...], ONE_OR_MORE, axes.MODE.key] = ("train",)
    size: Annotated[Literal["published", "small"], Key("'published' or 'small'")] = "published"
    items: Annotated[tuple[Items, ...], ONE_OR_MORE, axes.ITEMS.key] = ("default",)
    data: Annotated[tuple[Data, ...], ONE_OR_MORE, axes.DATA.key] = ("fixed",)
    pipeline_threads: Annotated[ThreadsList, axes.PIPELINE_THREADS.key] = ("auto",)
    scale: Annotated[Literal["strong", "weak"], Key("'strong' or 'weak'")] = "strong"
    cores: Annotated[
        Literal["doubling", "all", "most"] | Counts,
        Key("'doubling', 'all', 'most', or counts above 0 such as \"1-20\" or [1, 2, 4]", counts, axis=True),
    ] = "doubling"
    replicas: Annotated[Literal["fill"] | Counts, axes.REPLICAS.key] = (1,)
    smt: Annotated[Literal["doubling", "all"] | Counts, axes.SMT.key] = (1,)
    placements: Annotated[Words, axes.PLACEMENT.key] = ("compact",)
    quota: Annotated[tuple[Quota | Literal["none"], ...], ONE_OR_MORE, axes.QUOTA.key] = ("none",)
    clients: Annotated[tuple[Count, ...], axes.CLIENTS.key] = ()
    rate: Annotated[tuple[Rate, ...], axes.RATE.key] = ()
    within: Annotated[Word | None, Key('a domain such as "S0" or "M8"')] = None
    reserve: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Key('CPU numbers such as "0" or [0, 1]', counts)] = ()
    core_type: Annotated[Word | None, Key("a core type that `scaling machine topology` shows")] = None
    memory: Annotated[Literal["local", "interleave", "none"], Key("'local', 'interleave' or 'none'")] = "local"
    intra: Annotated[ThreadsList, axes.INTRA.key] = ("auto",)
    inter: Annotated[ThreadsList, axes.INTER.key] = ("auto",)
    framework: Annotated[tuple[Framework, ...], ONE_OR_MORE, axes.FRAMEWORK.key] = (TENSORFLOW,)
    device: Annotated[tuple[Device, ...], ONE_OR_MORE, axes.DEVICE.key] = (CPU,)
    jit: Annotated[tuple[bool, ...], ONE_OR_MORE, axes.JIT.key] = (False,)
    onednn: Annotated[tuple[bool | Literal["auto"], ...], ONE_OR_MORE, axes.ONEDNN.key] = ("auto",)
    cpu_power_watts: Annotated[WattsList, axes.CPU_POWER_WATTS.key] = ("none",)
    cpu_max_mhz: Annotated[MhzList, axes.CPU_MAX_MHZ.key] = ("none",)
    gpu_power_watts: Annotated[WattsList, axes.GPU_POWER_WATTS.key] = ("none",)
    gpu_max_mhz: Annotated[MhzList, axes.GPU_MAX_MHZ.key] = ("none",)
    energy: Annotated[Literal["auto", "none"], Key("'auto' or 'none'")] = "auto"
    start: Annotated[Start, Key("'spawn' or 'fork'")] = "spawn"
    python: Annotated[Word | None, Key("the path of a Python interpreter or of a virtual environment")] = None
    design: Annotated[Literal["turns", "apart"], Key("'turns' or 'apart'")] = "turns"
    rounds: Annotated[Count, Key("a whole number above 0")] = 10
    turn_seconds: Annotated[float, Meta(gt=0, le=3600), Key("seconds above 0, at most an hour")] = 1.0
    steps: Annotated[Count | None, Key("a whole number above 0")] = None
    warmup: Annotated[int, Meta(ge=0, le=65536), Key("a number from 0")] = 0
    launches: Annotated[Count, Key("a whole number above 0")] = 5
    precision: Annotated[float, Meta(gt=0, lt=1), Key("a ratio above 0 and below 1, such as 0.01")] = 0.01
    max_seconds: Annotated[float, Meta(gt=0, le=86_400), Key("seconds above 0, at most a day")] = 60.0
    timeout_seconds: Annotated[float, Meta(gt=0, le=864_000), Key("seconds above 0, at most ten days")] = 600.0
    seed: Annotated[int, Meta(ge=0, lt=2**32), Key("a number from 0 to 4294967295")] = 1

    def __post_init__(self) -> None:
        """Refuse wrong values, and keys that contradict each other."""
        _check_name(self.name)
        for text in self.workloads:
            workload(text)
        for check in (_check_placements, _check_names, _check_networks, _check_fixed_steps, _check_loads):
            check(self)


# Keys that may change freely: words, and the number of launches.
FREE = ("name", "question", "machine_name", "launches")

# The keys whose values multiply into points; a results folder may grow along them only.
GROWING = tuple(name for name, key in keys_of(Study).items() if key.axis)


def _usual_values(*applies: Applies) -> dict[str, Any]:
    """The keys that mean something for some workloads only, with the values of every other workload."""
    return {key.name: key.default for key in fields(Study) if key.name in AXES and AXES[key.name].applies in applies}


OF_FRAMEWORKS = _usual_values("frameworks")
OF_NETWORKS = _usual_values("frameworks", "networks")


def _check_name(name: str) -> None:
    if "/" in name or name in (".", "..") or not name.isprintable() or len(name) > LONGEST_NAME:
        raise StudyError(
            f"name is {name[:LONGEST_NAME]!r}, but it becomes the name of a folder; use at most {LONGEST_NAME} "
            "printable characters without '/', and not '..'"
        )


def _check_placements(study: Study) -> None:
    for placement in study.placements:
        if placement not in POLICIES and not placement.startswith(EXPLICIT):
            raise StudyError(
                f"unknown placement '{placement}'{did_you_mean(placement, POLICIES)}; choose from "
                f"{', '.join(POLICIES)} and cpus:LIST"
            )


def _check_names(study: Study) -> None:
    """Refuse a study without workloads, duplicate names, and programs whose work does not depend on items that vary."""
    if not study.workloads and not study.programs:
        raise StudyError(f"key 'workloads' is missing; it takes {WORKLOADS}; or add [[programs]]")
    names = [*study.workloads, *(program.name for program in study.programs)]
    twice = next((name for name, number in Counter(names).items() if number > 1), None)
    if twice is not None:
        raise StudyError(f"two programs or workloads are called '{twice}'; choose a different name for each program")
    unknown = next((name for name in study.beside if name not in names), None)
    if unknown is not None:
        raise StudyError(f"key 'beside' names '{unknown}', which the study does not measure; add it to 'workloads'")
    fixed = [name for name, program in programs_of(study).items() if "items" not in program.names]
    if fixed and (study.scale == "weak" or len(study.items) > 1):
        key = "scale = 'weak'" if study.scale == "weak" else f"items = {list(study.items)}"
        raise StudyError(
            f"program '{fixed[0]}' does not use {{items}}, so {key} would measure the same work again; put "
            "{items} into its command as the amount of work"
        )


def _check_networks(study: Study) -> None:
    """Refuse pipeline threads without a pipeline, and keys of networks for programs."""
    if study.pipeline_threads != ("auto",) and "pipeline" not in study.data:
        raise StudyError(
            f"pipeline_threads is {list(study.pipeline_threads)}, but data is {list(study.data)}, which has no "
            "pipeline; add data = 'pipeline', or leave pipeline_threads out"
        )
    for key, usual in OF_NETWORKS.items():
        values = getattr(study, key)
        if study.programs and values != usual:
            raise StudyError(
                f"program '{study.programs[0].name}' is not a network, so {key} cannot be {list(values)}; leave {key} "
                "out"
            )


def _check_fixed_steps(study: Study) -> None:
    """Refuse a fixed number of steps for turns and programs, and a warm-up without one."""
    if study.steps is None:
        if study.warmup:
            raise StudyError(
                f"warmup = {study.warmup} needs a fixed number of steps; set steps too, or leave warmup out"
            )
        return
    if study.design == "turns":
        raise StudyError(
            f"steps = {study.steps} is a fixed number, but processes that take turns are limited by time; set "
            'design = "apart"'
        )
    programs = [program.name for program in study.programs]
    programs += [text for text in study.workloads if isinstance(workload(text), Command)]
    if programs:
        raise StudyError(
            f"steps = {study.steps} is for workloads only, not for program '{excerpt(programs[0])}'; set steps and "
            "warmup in [[programs]]"
        )


def _check_loads(study: Study) -> None:
    """Refuse loads that no program uses, programs without their loads, and packs of programs that need other CPUs."""
    needing = [program.name for program in study.programs if program.needs_others]
    if needing and (study.replicas != (1,) or study.beside):
        raise StudyError(
            f"'{needing[0]}' needs other cores for its load, so it cannot be measured in packs; leave "
            "replicas and beside out"
        )
    for axis in LOADS:
        using = [program.name for program in study.programs if axis in program.names]
        values = getattr(study, axis)
        if using and not values:
            raise StudyError(f"program '{using[0]}' uses {{{axis}}}, but {axis} is missing; set {axis} = [1, 2, 4]")
        if values and not using:
            raise StudyError(f"{axis} is {list(values)}, but no line of a service uses {{{axis}}}; leave {axis} out")


def study_from_toml(text: str, source: str, settings: Iterable[str] = ()) -> Study:
    """The study of a TOML text, with KEY=VALUE settings that override its keys."""
    try:
        keys = parse_toml(text)
    except ValueError as error:
        raise StudyError(f"study {source}: not valid TOML: {excerpt(str(error))}") from error
    keys.setdefault("name", source.rsplit("/", 1)[-1].removesuffix(".toml"))
    keys.update(map(_setting, settings))
    try:
        return Study(**_with_programs(keys))
    except StudyError as error:
        raise StudyError(f"study {source}: {error}") from error


def _with_programs(keys: dict[str, Any]) -> dict[str, Any]:
    """Keys with the tables of all types of programs under `programs`."""
    kinds = {name: kind for name, kind in program_tables().items() if isinstance(keys.get(name), list)}
    made = [kind(**table) if isinstance(table, dict) else table for name, kind in kinds.items() for table in keys[name]]
    others = {name: value for name, value in keys.items() if name not in kinds}
    return {**others, Program.table: made} if kinds else keys


def study_to_toml(study: Study, comment: str) -> str:
    """A study as TOML that reads back to the same value."""
    values = {key: value for key, value in asdict(study).items() if key != Program.table}
    lines = [f"# {comment}", *(_toml_line(key, value) for key, value in values.items() if value not in (None, ()))]
    for program in study.programs:
        keys = keys_of(type(program))
        lines += ["", f"[[{program.table}]]"]
        lines += [_toml_line(keys[name].name or name, value) for name, value in given_keys(program).items()]
    return "\n".join(lines) + "\n"


def _toml_line(key: str, value: object) -> str:
    """A key and its value; strings, numbers and arrays of JSON are TOML, except DEL, which TOML escapes."""
    if isinstance(value, tuple) and value and all(isinstance(pair, tuple) for pair in value):
        text = "{ " + ", ".join(f"{json.dumps(name)} = {_variable(variable)}" for name, variable in value) + " }"
    else:
        text = _json(value)
    return f"{key} = {text}"


def _variable(value: str | FromShell) -> str:
    return _json(value) if isinstance(value, str) else f"{{ digest = {_json(value.digest)} }}" if value.digest else "{}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _setting(text: str) -> tuple[str, object]:
    """KEY=VALUE, the value as TOML if it parses, else as text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise StudyError(f"setting {text}: write KEY=VALUE, such as cores=1-4")
    try:
        parsed: object = parse_toml(f"value = {value}")["value"]
    except ValueError:
        parsed = value.strip()
    return key.strip(), parsed


def values_of(study: Study, *keys: str) -> list[dict[str, Any]]:
    """Every combination of the values of some keys; None for "none" and "auto"."""
    values = ([None if value in ("none", "auto") else value for value in getattr(study, key)] for key in keys)
    return [dict(zip(keys, chosen, strict=True)) for chosen in product(*values)]


def controlled_values(study: Study) -> dict[str, list[float]]:
    """The values that a study sets of the machine, by axis."""
    chosen = {name: [one[name] for one in values_of(study, name)] for name in CONTROLS}
    known = {name: [value for value in values if value is not None] for name, values in chosen.items()}
    return {name: values for name, values in known.items() if values}


def inputs_of(study: Study) -> list[dict[str, Any]]:
    """The inputs of steps, each with the threads of its pipeline, if any."""
    return [
        {"data": data, "pipeline_threads": threads}
        for data in study.data
        for threads in (study.pipeline_threads if data == "pipeline" else (None,))
    ]


def subjects_of(study: Study) -> list[dict[str, Any]]:
    """The names and modes of workloads, the loads of services, and the amounts of work."""
    subjects: list[dict[str, Any]] = [
        {"workload": name, "mode": mode}
        for name, text in workload_names(study).items()
        for mode in ([PROGRAM_MODE] if short_program(text) else study.modes)
    ]
    for program in study.programs:
        loads = values_of(study, *(load for load in LOADS if load in program.names))
        subjects += [{"workload": program.name, "mode": PROGRAM_MODE, **values} for values in loads]
    return [subject | items for subject in subjects for items in values_of(study, "items")]


@dataclass(frozen=True, slots=True)
class Turns:
    """The rounds of a cohort, the seconds of a turn, and the most rounds, if a process has no quiet turn before.

    Whether a turn is quiet does not depend on its steps. Processes that live `alone` have rounds of their own.
    """

    rounds: int
    seconds: float
    most_rounds: int
    alone: bool = False


def turns_of(study: Study, program: Program | None = None) -> Turns:
    """The turns of a launch within `max_seconds`; a program that every launch executes anew has one turn."""
    seconds = min(study.turn_seconds, study.max_seconds)
    if program and not program.takes_rounds:
        return Turns(1, seconds, 1)
    longest = max(1, int(study.max_seconds / seconds + 1e-9))
    alone = program is not None and program.lives_alone
    return Turns(min(study.rounds, longest), seconds, min(ROUNDS_FACTOR * study.rounds, longest), alone)


def programs_of(study: Study) -> dict[str, Program]:
    """The programs of a study by the names that their points have."""
    short = {name: short_program(text) for name, text in workload_names(study).items()}
    named = {program.name: program for program in study.programs}
    return {name: program for name, program in short.items() if program} | named


def short_program(text: str) -> Program | None:
    """The program of a `command:` entry of `workloads`; None for other entries."""
    parsed = workload(text)
    return Program(name="command", command=parsed.argv) if isinstance(parsed, Command) else None


def workload_names(study: Study) -> dict[str, str]:
    """The workloads of a study by the names of their points, without secrets."""
    names = {without_secrets(text): text for text in study.workloads}
    if len(names) < len(study.workloads):
        raise StudyError(
            "two workloads differ only in a value that looks like a secret, which is not stored; let the program read "
            "it from a file"
        )
    return names


def incompatibility(old: Study, new: Study, dropped: int = 0) -> str | None:
    """Why `new`, which drops a number of the runs of `old`, cannot continue its folder; None if it can."""
    changed = [field.name for field in fields(Study) if getattr(old, field.name) != getattr(new, field.name)]
    described = {program.name: program for program in new.programs}
    differing = [program.name for program in old.programs if described.get(program.name, program) != program]
    if differing:
        return f"program '{differing[0]}' was defined differently"
    fixed = [key for key in changed if key not in GROWING and key not in FREE]
    if fixed:
        return _differences(old, new, fixed)
    if dropped:
        growing = [key for key in changed if key in GROWING or key == "launches"]
        shorter = [key for key in growing if _drops(old, new, key)]
        return f"{_differences(old, new, shorter or growing)}, which drops {dropped} of its runs"
    return None


def incompatibility_anywhere(old: Study, new: Study) -> str | None:
    """Why `new` cannot continue `old` on any machine, without resolving words such as "doubling"."""
    growing = [key for key in GROWING if key != "pipeline_threads" or "pipeline" in old.data]
    dropped = [key for key in (*growing, "launches") if _drops(old, new, key)]
    return incompatibility(old, new) or (
        f"{_differences(old, new, dropped)}, which drops some of its runs" if dropped else None
    )


def _drops(old: Study, new: Study, key: str) -> bool:
    """Whether `new` has fewer launches, or lost a value of an axis other than one core, which is always measured."""
    if key == "launches":
        return new.launches < old.launches
    values = getattr(old, key), getattr(new, key)
    if not all(isinstance(one, tuple) for one in values):
        return False
    return bool({*values[0]} - {*values[1]} - ({1} if key in ("cores", "replicas") else set()))


def _differences(old: Study, new: Study, keys: list[str]) -> str:
    return ", ".join(
        f"{key} was {_value_words(getattr(old, key))} and is now {_value_words(getattr(new, key))}" for key in keys
    )


def _value_words(value: object) -> str:
    if not isinstance(value, tuple):
        return repr(value)
    return str([item.name if isinstance(item, Program) else item for item in value])
