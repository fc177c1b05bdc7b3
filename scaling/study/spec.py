"""A study as a frozen value, read from TOML and checked once; later modules trust it. Pure."""

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from scaling.errors import PlacementError, StudyError
from scaling.machine.cpulist import ordered_list
from scaling.machine.placement import EXPLICIT, POLICIES
from scaling.study.workload import did_you_mean, workload

# The keys whose values multiply into points: a folder may grow along them, and along nothing else.
AXES = ("workloads", "modes", "items", "cores", "smt", "placements", "intra", "inter")

Counts = tuple[int, ...]
Threads = int | Literal["auto", "cpus", "cores"]
Items = int | Literal["default"]
Start = Literal["spawn", "fork"]


@dataclass(frozen=True, slots=True)
class Study:
    """The question: which workloads, over which axes, measured how carefully."""

    name: str
    question: str
    workloads: tuple[str, ...]
    modes: tuple[str, ...]
    size: str
    items: tuple[Items, ...]
    scale: str
    cores: Literal["doubling", "all"] | Counts
    smt: Literal["all"] | Counts
    placements: tuple[str, ...]
    within: str | None
    reserve: Counts
    kind: str | None
    memory: str
    intra: tuple[Threads, ...]
    inter: tuple[Threads, ...]
    framework: str
    device: str
    jit: bool
    start: Start
    launches: int
    precision: float
    max_seconds: float
    timeout_seconds: float
    seed: int


def _listed(value: object) -> object:
    """A single value stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def _counts(value: object) -> object:
    """Counts as a list, a number, or text such as '1-20' and '1,2,4'; words are left for the check that follows."""
    if isinstance(value, str) and value[:1].isdigit():
        return list(ordered_list(value))
    return [value] if isinstance(value, int) else value


Word = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=65536, strict=True)]
CountsKey = Annotated[tuple[Count, ...], Field(min_length=1)]
WordsKey = Annotated[tuple[Word, ...], Field(min_length=1), BeforeValidator(_listed)]
ModesKey = Annotated[tuple[Literal["train", "infer"], ...], Field(min_length=1), BeforeValidator(_listed)]
ItemsKey = Annotated[tuple[Count | Literal["default"], ...], Field(min_length=1), BeforeValidator(_listed)]
ThreadsKey = Annotated[
    tuple[Count | Literal["auto", "cpus", "cores"], ...], Field(min_length=1), BeforeValidator(_listed)
]
CoresKey = Annotated[Literal["doubling", "all"] | CountsKey, BeforeValidator(_counts)]
SmtKey = Annotated[Literal["all"] | CountsKey, BeforeValidator(_counts)]
CpusKey = Annotated[tuple[Annotated[int, Field(ge=0, strict=True)], ...], BeforeValidator(_counts)]


def _key(default: Any, takes: str, **limits: Any) -> Any:
    """A key with its default and, for whoever gets it wrong, what it takes."""
    return Field(default, description=takes, **limits)


class _StudyFile(BaseModel):
    """The keys of a study file, their defaults, and what each takes in words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Word = _key(..., "text")
    question: str = _key("", "text")
    workloads: WordsKey = _key(..., 'names such as "calibrated", "file.py:factory" or "command: ./prog"')
    modes: ModesKey = _key(("train",), "'train', 'infer' or both in a list")
    size: Literal["published", "small"] = _key("published", "'published' or 'small'")
    items: ItemsKey = _key(("default",), "'default', a number of items from 1, or a list of them")
    scale: Literal["strong", "weak"] = _key("strong", "'strong' or 'weak'")
    cores: CoresKey = _key("doubling", "'doubling', 'all', or counts from 1 such as \"1-20\" or [1, 2, 4]")
    smt: SmtKey = _key((1,), "'all' or counts from 1 such as [1, 2]")
    placements: WordsKey = _key(("compact",), f'{", ".join(POLICIES)}, or a list such as "cpus:0,2,4"')
    within: Word | None = _key(None, 'a domain such as "S0" or "M8"')
    reserve: CpusKey = _key((), 'CPU numbers such as "0" or [0, 1]')
    kind: Word | None = _key(None, "a kind of core that `scaling topology` shows")
    memory: Literal["local", "interleave", "none"] = _key("local", "'local', 'interleave' or 'none'")
    intra: ThreadsKey = _key(("auto",), "'auto', 'cpus', 'cores', a number from 1, or a list of them")
    inter: ThreadsKey = _key(("auto",), "'auto', 'cpus', 'cores', a number from 1, or a list of them")
    framework: Literal["tensorflow"] = _key("tensorflow", "'tensorflow'")
    device: Literal["cpu"] = _key("cpu", "'cpu'")
    jit: bool = _key(False, "true or false", strict=True)
    start: Start = _key("spawn", "'spawn' or 'fork'")
    launches: Count = _key(5, "a number from 1")
    precision: float = _key(0.01, "a ratio above 0 and below 1, such as 0.01", gt=0, lt=1)
    max_seconds: float = _key(60.0, "seconds above 0, at most a day", gt=0, le=86_400)
    timeout_seconds: float = _key(600.0, "seconds above 0, at most ten days", gt=0, le=864_000)
    seed: int = _key(1, "a number from 0 below 4294967296", ge=0, lt=2**32, strict=True)

    @field_validator("workloads")
    @classmethod
    def _understood(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            workload(text)
        return value

    @field_validator("placements")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for placement in value:
            if placement not in POLICIES and not placement.startswith(EXPLICIT):
                raise PlacementError(
                    f"unknown placement '{placement}'{did_you_mean(placement, POLICIES)}; "
                    f"there are {', '.join(POLICIES)} and cpus:LIST"
                )
        return value

    @field_validator(*AXES)
    @classmethod
    def _once(cls, value: Any) -> Any:
        return tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value


def study_from_toml(text: str, source: str, settings: Iterable[str] = ()) -> Study:
    """The study a TOML text describes, with KEY=VALUE settings laid over it."""
    try:
        keys: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"study {source}: not valid TOML: {error}") from error
    keys.setdefault("name", source.rsplit("/", 1)[-1].removesuffix(".toml"))
    for setting in settings:
        key, value = _setting(setting)
        keys[key] = value
    try:
        checked = _StudyFile.model_validate(keys)
    except ValidationError as error:
        raise StudyError(f"study {source}: {_sentence(error)}") from error
    except (StudyError, PlacementError) as error:
        raise StudyError(f"study {source}: {error}") from error
    return Study(**{field.name: getattr(checked, field.name) for field in fields(Study)})


def study_to_toml(study: Study, comment: str) -> str:
    """A study as TOML that reads back to the same value."""
    lines = [f"# {comment}"]
    for key, value in asdict(study).items():
        if value not in (None, ()):
            # JSON's strings, numbers and arrays are TOML's, but for DEL, which TOML wants escaped.
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f"))
    return "\n".join(lines) + "\n"


def _setting(text: str) -> tuple[str, object]:
    """KEY=VALUE, the value as TOML where it is TOML, else as plain text."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise StudyError(f"--set {text}: write KEY=VALUE, such as --set cores=1-4")
    try:
        parsed: object = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()
    return key.strip(), parsed


def _sentence(error: ValidationError) -> str:
    """The first thing wrong with a study, said for a person, and how much more there is."""
    problems = {str(each["loc"][0]): each for each in reversed(error.errors(include_url=False))}
    unknown = [key for key, each in problems.items() if each["type"] == "extra_forbidden"]
    key = (unknown or list(problems))[0]
    more = f" (and {len(problems) - 1} more to put right)" if len(problems) > 1 else ""
    return _problem(key, problems[key]["type"], problems[key]["input"]) + more


def _problem(key: str, kind: str, given: object) -> str:
    keys = _StudyFile.model_fields
    if kind == "extra_forbidden":
        return f"unknown key '{key}'" + (did_you_mean(key, keys) or _option_hint(given))
    takes = keys[key].description or ""
    if kind == "missing":
        return f"key '{key}' is missing; it takes {takes}"
    hint = did_you_mean(given, re.findall(r"'(\w+)'", takes)) if isinstance(given, str) else ""
    return f"key '{key}' cannot be {json.dumps(given, default=str)}; it takes {takes}{hint}"


def _option_hint(given: object) -> str:
    if isinstance(given, int | float):
        return '; a workload\'s own options follow its name, as in workloads = ["calibrated serial=0.2"]'
    return f"; the keys are {', '.join(_StudyFile.model_fields)}"
