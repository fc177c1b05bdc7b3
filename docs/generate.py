"""Write docs/reference from the registries: `python docs/generate.py`, or `--check` to compare only.

Names, values, defaults and limits come from the program. Meanings that only a reader needs are in reference.toml; a
name without a meaning, or a meaning without a name, is an error.
"""

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from typer import Context
from typer.main import get_command

from scaling.analysis.energy import MeterEnergy
from scaling.analysis.packs import Pack
from scaling.analysis.rules import RULES, Rule, Verdict
from scaling.analysis.turns import Turn
from scaling.analysis.witness import Witness
from scaling.cli.main import COMMANDS, app
from scaling.features import features, resolve
from scaling.reporting.plots.registry import all_kinds
from scaling.reporting.quantities import VERDICT_WORDS, quantities
from scaling.reporting.schemas import json_schema, outputs
from scaling.results.rows import Outcome, ProgramFile, Row, Sections
from scaling.study.keys import Key, keys_of
from scaling.study.programs import Program
from scaling.study.spec import Study

DOCS = Path(__file__).parent
FOLDER = DOCS / "reference"
MEANINGS = tomllib.loads((DOCS / "reference.toml").read_text())
NOTE = "<!-- Written by docs/generate.py from the program itself; change the program or reference.toml. -->"
# An option with the same help in at least this many commands is described once.
COMMON = 2


def main() -> None:
    """Write every page, or with --check name those that are not up to date."""
    stale = [name for name, text in pages().items() if not _is(FOLDER / name, text)]
    if "--check" in sys.argv:
        sys.exit(f"not up to date: {', '.join(stale)}; run python docs/generate.py" if stale else 0)
    for name in stale:
        (FOLDER / name).write_text(pages()[name])


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def pages() -> dict[str, str]:
    """Every page of the reference by its file name."""
    made = {
        "commands.md": commands(),
        "study.md": study(),
        "fields.md": field_tables(),
        "verdicts.md": verdicts(),
        "catalogue.md": catalogue(),
    }
    return {name: "\n".join([*text, ""]) for name, text in made.items()}


def commands() -> list[str]:
    """Every command: what it does, an example, its options."""
    all_commands = {name: _command(name) for name, one in COMMANDS.items() if one.group}
    shared = _shared(all_commands.values())
    lines = [*_head("Commands"), *MEANINGS["text"]["commands"].strip().splitlines(), ""]
    lines += ["## Options of several commands", "", *table(("option", "meaning"), sorted(shared)), ""]
    for name, command in all_commands.items():
        lines += [f"## `scaling {name}`", "", *_help(command.help or ""), ""]
        options = [row for row in map(_option, _options(command)) if row not in shared]
        lines += [*table(("option", "meaning"), options), ""] if options else []
    return lines[:-1]


def _command(name: str) -> Any:
    """A command by its words, the last of which may be of a group."""
    command: Any = get_command(app)
    for word in name.split():
        command = command.get_command(Context(command), word)
    return command


def _options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and one.name != "help"]


def _option(option: Any) -> tuple[str, str]:
    """An option with its value, and its help with the default."""
    words = " ".join([", ".join(option.opts), *([option.metavar] if option.metavar else [])])
    default = option.default if isinstance(option.default, str | int | float) and option.show_default else None
    stated = "" if default in (None, False, "") else f" Default: `{default}`."
    return f"`{words}`", (option.help or "") + stated


def _shared(all_commands: Iterable[Any]) -> set[tuple[str, str]]:
    rows = [_option(option) for command in all_commands for option in _options(command)]
    return {row for row in rows if rows.count(row) >= COMMON}


def _help(text: str) -> list[str]:
    """The first paragraph of a command's help, and its examples as a block."""
    paragraphs = [" ".join(part.split()) for part in text.replace("\b", "").split("\n\n")]
    summary = paragraphs[0]
    examples = [part.removeprefix("Example: ") for part in paragraphs if part.startswith("Example: ")]
    block = ["", "```sh", *(line for part in examples for line in part.split(" Example: ")), "```"] if examples else []
    return [summary, *block]


def study() -> list[str]:
    """The keys of a study, of a program in it, and of what features add."""
    text = MEANINGS["text"]
    return [
        *_head("Study keys"),
        *text["study"].strip().splitlines(),
        "",
        *_key_table(Study, "study"),
        "",
        "## Keys of `[[programs]]`",
        "",
        *text["programs"].strip().splitlines(),
        "",
        *_key_table(Program, "programs"),
        *_feature_tables(),
    ]


def _feature_tables() -> Iterator[str]:
    programs = keys_of(Program)
    for feature in features():
        for section, owner in {**feature.programs, **feature.keys}.items():
            yield from ("", *MEANINGS["text"][section].strip().splitlines(), "")
            yield from _key_table(resolve(owner), section, programs if section in feature.programs else None)


def _key_table(owner: Any, section: str, known: Mapping[str, Key] | None = None) -> list[str]:
    """The keys of a type, without those that mean the same in another table."""
    defaults = {one.name: one.default for one in fields(owner)}
    keys = {name: key for name, key in keys_of(owner).items() if known is None or known.get(name) != key}
    meanings = covered(section, keys)
    rows = [(f"`{key.name or name}`", _values(key, defaults[name]), meanings[name]) for name, key in keys.items()]
    return table(("key", "values (default)", "meaning"), rows)


def _values(key: Key, default: Any) -> str:
    words = key.words if key.words[1:2].isupper() else key.words[:1].lower() + key.words[1:]
    return words if default in (MISSING, None, (), "") else f"{words} ({_toml(default)})"


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_toml, value))
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"


def field_tables() -> list[str]:
    """The fields of rows, of points, and of what commands print with --json."""
    text = MEANINGS["text"]
    lines = [*_head("Row and JSON fields"), *text["fields"].strip().splitlines(), ""]
    lines += ["## JSON of commands", "", *text["json"].strip().splitlines(), "", *_json_keys(), ""]
    lines += ["## A point", "", *text["point"].strip().splitlines(), "", *_meanings("point", _point_keys()), ""]
    lines += ["## A row", "", *text["row"].strip().splitlines(), "", *_meanings("row", _names(Row)), ""]
    parts = {"outcome": Outcome, "turns": Turn, "sections": Sections, "witness": Witness, "energy": MeterEnergy}
    for section, owner in {**parts, "pack": Pack, "program_files": ProgramFile}.items():
        where = section if section in ("witness", "outcome") else f"{section}[]" if section[-1] == "s" else section
        lines += [f"### `{where}`", "", *_meanings(section, _names(owner)), ""]
    return lines[:-1]


def _names(owner: Any) -> list[str]:
    return list(getattr(owner, "__struct_encode_fields__", ())) or [one.name for one in fields(owner)]


def _point_keys() -> list[str]:
    """The keys of a point; `_low` and `_high` of an estimate are described once for all."""
    keys = [key for quantity in quantities() for key in quantity.types]
    return [key for key in keys if not (key.endswith(("_low", "_high")) and key.rpartition("_")[0] in keys)]


def _json_keys() -> list[str]:
    rows = []
    for command in outputs():
        schema = json_schema(command)
        heads = [one["$ref"] for one in schema.get("anyOf", [schema])]
        keys = [sorted(schema["$defs"][head.rpartition("/")[2]]["properties"]) for head in heads]
        shown = ["; ".join(", ".join(f"`{key}`" for key in each if key != "schema") for each in keys)]
        rows.append((f"`{command}`", shown[0]))
    return table(
        ("command", "keys besides `schema`; semicolons separate the forms of its object, which depend on the options"),
        rows,
    )


def _meanings(section: str, names: Iterable[str]) -> list[str]:
    return table(("field", "meaning"), [(f"`{name}`", text) for name, text in covered(section, names).items()])


def verdicts() -> list[str]:
    """Verdicts, and every reason with its limit, its effect and what to do."""
    remedies = covered("rules", [rule.code for rule in RULES])
    rows = [(VERDICT_WORDS[one], f"`{one}`", text) for one, text in _by_verdict()]
    lines = [*_head("Verdicts and reasons"), *MEANINGS["text"]["verdicts"].strip().splitlines(), ""]
    lines += [*table(("verdict", "`verdict_code`", "meaning"), rows), ""]
    for verdict in sorted(Verdict, key=lambda one: one.severity, reverse=True):
        cautions = verdict is Verdict.OK
        lines += ["## Cautions" if cautions else f"## Reasons that make a point {VERDICT_WORDS[verdict]}", ""]
        rules = [_rule(rule, remedies) for rule in RULES if rule.verdict is verdict]
        lines += [*table(("reason", "limit", "why", "what to do"), rules), ""]
    return lines[:-1]


def _by_verdict() -> Iterator[tuple[Verdict, str]]:
    meanings = covered("verdicts", list(Verdict))
    return ((one, meanings[one]) for one in Verdict)


def _rule(rule: Rule, remedies: Mapping[str, str]) -> tuple[str, str, str, str]:
    return f"{rule.name} (`{rule.code}`)", _limit(rule), rule.why, remedies[rule.code]


def _limit(rule: Rule) -> str:
    unit = covered("limits", [one.code for one in RULES if one.limit]).get(rule.code)
    return "any" if unit is None else f"{rule.limit:.0%}" if unit == "%" else f"{rule.limit:g} {unit}"


def catalogue() -> list[str]:
    """Ready-made studies, workloads, figures and names of the library."""
    text = MEANINGS["text"]
    studies = {path.stem: tomllib.loads(path.read_text()) for path in sorted((DOCS.parent / "sweeps").glob("*.toml"))}
    workloads = tomllib.loads((DOCS.parent / "workloads" / "catalogue.toml").read_text())
    kinds = [(f"`{kind.name}`", kind.description) for kind in all_kinds() if kind.needs != "node types"]
    return [
        *_head("Catalogue"),
        "## Studies",
        "",
        *text["studies"].strip().splitlines(),
        "",
        *table(("study", "question"), [(f"`{name}`", keys["question"]) for name, keys in studies.items()]),
        "",
        "## Workloads",
        "",
        *text["workloads"].strip().splitlines(),
        "",
        *table(("workload", "what it is"), [(f"`{name}`", facts["about"]) for name, facts in workloads.items()]),
        "",
        "## Figures",
        "",
        *text["figures"].strip().splitlines(),
        "",
        *table(("figure", "content"), kinds),
    ]


def covered(section: str, names: Iterable[str]) -> dict[str, str]:
    """The meanings of names, in their order; an error where a name or a meaning is missing."""
    meanings, ordered = MEANINGS[section], list(map(str, names))
    if {*meanings} != {*ordered}:
        sys.exit(f"reference.toml, [{section}]: {sorted({*meanings} ^ {*ordered})} is on one side only")
    return {name: meanings[name] for name in ordered}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    lines += [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return [f"| {line} |" for line in lines]


def _head(title: str) -> list[str]:
    return [f"# {title}", "", NOTE, ""]


if __name__ == "__main__":
    main()
