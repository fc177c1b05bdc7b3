"""Cases: which command is given what. A case is made of its seed and number alone, so that each can be made again."""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from benchmarks.shared.fuzz import materials

Chance = random.Random


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link to a path relative to the folder that the command works in."""

    target: str


@dataclass(frozen=True, slots=True)
class Special:
    """Something that is no regular file: "pipe" or "folder"."""

    what: str


@dataclass(frozen=True, slots=True)
class Sparse:
    """A file that begins with a text and goes on with zeros, which take no room on the disk."""

    head: bytes
    size: int


Content = bytes | Link | Special | Sparse
Tree = dict[str, Content]


@dataclass(frozen=True, slots=True)
class Case:
    """A command line, the files it finds, and the paths it may write to; `data` where stdout is data, not words.

    `unharmed` are files for which the answer must be the same.
    """

    number: int
    kind: str
    arguments: tuple[str, ...]
    files: Tree
    outputs: tuple[str, ...] = ()
    encoding: str = "utf-8"
    data: bool = False
    unharmed: Tree | None = None


DEEP = "@deep@"
TEXTS = ["", " ", "\x1b[31mred\x1b[0m", "\x00", "\x07\r\x08", "\x9b2J", "\ud800", "a" * 70_000, "../../x", "\n\n"]
TEXTS += ["<script>alert(1)</script>", "%s{0}{x}", "１２", "nan", "1e400", "2026-13-45T99:99", "-", "ok", "☃" * 50]
NUMBERS: list[Any] = [0, -1, 1, 2**31, 2**63, 2**64, 10**30, 10**400, 1e308, -1e308, 5e-324, 1e-300, -0.0, 0.5]
NUMBERS += [float("nan"), float("inf"), float("-inf"), 65536, 65537]
VALUES: list[Any] = [*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], [None], {"": None}, DEEP, [1, "a", None]]

WORDS = ["0", "-1", "1", "nan", "inf", "-inf", "1e308", "1e-320", "", " ", "x", "1-", "1-4", "4-1", "1,,2", "9" * 11]
WORDS += ["\x1b[31m", "\udcff", "☃", "--", "-o", "9" * 400, "a" * 5000, "1_000", "0x10", "../..", "10m", "1h1h"]

TOML_VALUES = ["", "0", "-1", "1", "2", "65536", "65537", "9" * 30, "9" * 5000, "1e400", "nan", "inf", "-inf", "true"]
TOML_VALUES += ['""', '"\\u001b[31m"', '"\\u0000"', '"a/b"', '".."', '"all"', '"doubling"', '"1-4"', '"4-1"', "[]"]
TOML_VALUES += ["[" * 3000 + "]" * 3000, "[1, 2, 2]", '["x", 1]', "1979-05-27", "07:32:00", f'"{"a" * 5000}"', "[[1]]"]
TOML_VALUES += ["{a = {b = 1}}", "0x7fffffffffffffffffffff", '"command: true"', '"command: {x}"', '"☃"', "{}", '"5m"']
TOML_VALUES += ['"cpus:0"', '"cpus:9999999999"', '"cpus:1-"', '"scatter:"', '"no.py:f"', '"S0"', "'''\n'''"]
TOML_VALUES += ['"calibrated work=x"', '"0-99999999"', '"\\ud800"', '"command: \\u0000"', '"calibrated serial=nan"']
# Settings that a study may have, and that one machine or another cannot meet.
SETTINGS = ['cores = "all"', 'cores = "doubling"', 'cores = "1-2"', 'smt = "all"', "smt = [1, 2]", 'within = "S0"']
SETTINGS += ['within = "M8"', "reserve = [0]", 'core_type = "x"', 'memory = "interleave"', 'intra = ["cores", 2]']
SETTINGS += ['inter = "cpus"', 'start = "fork"', 'design = "turns"', "rounds = 65536", "launches = 65536", "jit = true"]
SETTINGS += ['placements = ["compact", "scatter:numa"]', 'placements = "cpus:0"', 'placements = "cpus:0,0,1"']
SETTINGS += ['workloads = ["command: true", "calibrated"]', 'workloads = "no.py:f"', 'workloads = "memnet x=1"']
SETTINGS += ['modes = ["train", "infer"]', 'scale = "weak"', 'size = "small"', "items = [1, 65536]", 'python = "no"']
SETTINGS += ['device = ["cpu", "gpu"]', 'device = "gpu"', 'framework = ["torch", "jax"]', 'framework = "jax"']
SETTINGS += ["cpu_power_watts = 1e-9", 'cpu_max_mhz = ["none", 800]', "gpu_power_watts = 65536", "gpu_max_mhz = 1"]
SETTINGS += ["replicas = [1, 65536]", 'replicas = "fill"', 'beside = ["calibrated"]', 'onednn = ["auto", true, false]']
SETTINGS += ['data = ["fixed", "pipeline"]', 'data = "fresh"', "pipeline_threads = [1, 65536]", 'energy = "none"']
SETTINGS += ['quota = ["none", 0.01]', 'quota = "1500m"', "steps = 65536", "steps = 1", "warmup = 65536"]
SETTINGS += ["timeout_seconds = 1e-9", "turn_seconds = 3600", "precision = 1e-300", 'question = "☃"', "cores = 65536"]

BYTES = [b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[2J", b"\n", b"\r\n", b'"', b"}", b"[" * 2000, b",", b"9" * 500]


def case(seed: int, number: int) -> Case:
    """A case by its number."""
    chance = Chance(f"{seed} {number}")
    make = chance.choices(list(MAKERS), list(MAKERS.values()))[0]
    return make(chance, number)


FOLDERS: dict[Callable[[], materials.Files], int] = {
    materials.sweep_folder: 5,
    materials.turns_folder: 3,
    materials.profile_folder: 2,
    materials.cluster_folder: 2,
    materials.capped_folder: 2,
    materials.gpu_folder: 2,
    materials.packs_folder: 2,
    materials.tuned_folder: 1,
}


def _folder_case(chance: Chance, number: int) -> Case:
    """A command over a corrupted results folder."""
    made = chance.choices(list(FOLDERS), list(FOLDERS.values()))[0]()
    files: Tree = {f"in/{name}": text for name, text in made.items()}
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        _corrupt(chance, files, chance.choice([*files] or ["in/rows.jsonl"]))
    arguments, outputs = _reading_command(chance, "in")
    if "other" in arguments:
        files |= {f"other/{name}": text for name, text in materials.sweep_folder().items()}
    return _case(chance, number, "folder", arguments, files, outputs)


def _harmless_case(chance: Chance, number: int) -> Case:
    """A command over a results folder to which something was done that should not matter."""
    made = chance.choice((materials.sweep_folder, materials.turns_folder, materials.packs_folder))()
    unharmed: Tree = {f"in/{name}": text for name, text in made.items()}
    files = dict(unharmed)
    for harm in chance.sample(HARMLESS, chance.choice((1, 1, 2))):
        harm(chance, files)
    commands = (["show"], ["show", "--why"], ["fit"], ["capacity", "--efficiency", "0.5"])
    command, *options = chance.choice((*commands, ["export", "--format", "csv", "-o", "-"]))
    one = _case(chance, number, "harmless", [command, "in", *options], files)
    return replace(one, unharmed=unharmed)


def _repeat_rows(chance: Chance, files: Tree) -> None:
    lines = _row_lines(files)
    for line in chance.choices(lines, k=chance.choice((1, 3, len(lines)))):
        lines.insert(chance.randrange(lines.index(line) + 1, len(lines) + 1), line)
    files["in/rows.jsonl"] = b"".join(lines)


def _tear_a_row(chance: Chance, files: Tree) -> None:
    lines = _row_lines(files)
    files["in/rows.jsonl"] = b"".join([*lines, chance.choice(lines)[: chance.randrange(1, 200)]])


def _write_rows_otherwise(chance: Chance, files: Tree) -> None:
    """Keys that no version knows, in another order, as another writer of JSON might."""
    rows = [json.loads(line) for line in _row_lines(files)]
    chosen = [row for row in rows if chance.random() < 0.5]
    for row in chosen:
        row["surprise"] = chance.choice((None, "x", [1]))
    written = [dict(reversed(row.items())) if row in chosen else row for row in rows]
    files["in/rows.jsonl"] = "".join(f"{json.dumps(row)}\n" for row in written).encode()


def _add_a_file(chance: Chance, files: Tree) -> None:
    files[f"in/{chance.choice(('notes.txt', 'rows.torn', '.rows.jsonl.swp'))}"] = b"{\n"


def _row_lines(files: Tree) -> list[bytes]:
    text = files["in/rows.jsonl"]
    assert isinstance(text, bytes)
    return [line for line in text.splitlines(keepends=True) if line.endswith(b"\n")]


HARMLESS = (_repeat_rows, _tear_a_row, _write_rows_otherwise, _add_a_file)


def _runs_case(chance: Chance, number: int) -> Case:
    """Real runs of a program that does nothing."""
    program, output = ["--", "/bin/true"], ["-o", "out", "--no-wait"]
    few = ["--cores", "1", "--launches", "1"]
    odd = chance.choice(([], ["--env", "A=\x1b[31m"], ["--cwd", "/"], ["--stdin", "bystander"], ["--timeout", "5"]))
    commands = (
        ["run", *few, "--no-report", *odd, *output, *program],
        ["run", *few, "--no-report", *odd, *output, "--", "/bin/false"],
        ["pack", "--cores", "2", "--launches", "1", "--rounds", "1", *output, *program],
        ["tune", "--cores", "1", "--param", "b=1,2", "--budget", "1s", *_json(chance), *output, *program, "{b}"],
        ["compare", "study.toml", "--between", "seed=1", "intra=2", *_json(chance), *output],
    )
    files: Tree = {"study.toml": b'workloads = ["command: /bin/true"]\ncores = 1\nrounds = 1\nlaunches = 1\n'}
    return _case(chance, number, "runs", chance.choice(commands), files, ("out",))


def _output_case(chance: Chance, number: int) -> Case:
    """A sound folder, and an output that is something already."""
    files: Tree = {f"in/{name}": text for name, text in materials.sweep_folder().items()}
    contents: list[Content] = [*map(Link, ("bystander", "nowhere/x", "bystander.d")), Special("folder"), b"old"]
    name = chance.choice(("out", "in/rows.csv", "in/.rows.csv.draft", *files))
    outputs = ["in/rows.csv", "in/rows.parquet"]
    if name not in files:
        files[name] = chance.choice(contents)
        outputs.append(name)
    output = [] if name != "out" and chance.random() < 0.5 else ["-o", name]
    arguments = ["export", "in", "--format", chance.choice(("csv", "parquet")), *output]
    return _case(chance, number, "output", arguments, files, outputs)


def _resume_case(chance: Chance, number: int) -> Case:
    """A sweep that goes on with a corrupted folder of its own."""
    files: Tree = {f"in/{name}": text for name, text in materials.resumable_folder().items()}
    _corrupt(chance, files, chance.choice(list(files)))
    files["study.toml"] = materials.RESUMABLE
    flags = chance.choice(([], ["--retry-failed"], ["--dry-run"], ["--budget", "1s"]))
    arguments = ["sweep", "study.toml", "-o", "in", "--no-wait", "--no-report", *flags]
    return _case(chance, number, "resume", arguments, files, ("in",))


def _search_case(chance: Chance, number: int) -> Case:
    """A search that goes on with a corrupted folder of its own."""
    files: Tree = {f"in/{name}": text for name, text in materials.tuned_folder().items()}
    _corrupt(chance, files, chance.choice(list(files)))
    workload, parameters = materials.TUNED
    words = [word for name, values in parameters.items() for word in ("--param", f"{name}={','.join(values)}")]
    flags = chance.choice(([], ["--json"], ["--dry-run"]))
    arguments = ["tune", workload, "--cores", "1", *words, "-o", "in", "--no-wait", "--budget", "1s", *flags]
    return _case(chance, number, "search", arguments, files, ("in",))


def _study_case(chance: Chance, number: int) -> Case:
    """The plan of a hostile study; settings of the command line too."""
    toml = materials.ONE_CORE
    if chance.random() < 0.5:
        toml = _corrupt_toml(chance, toml)
    for setting in chance.sample(SETTINGS, chance.choice((0, 1, 2, 4))):
        toml = _set_in_toml(toml, setting)
    files: Tree = {"study.toml": toml}
    settings = [f"{chance.choice(_keys(materials.ONE_CORE))}={chance.choice(TOML_VALUES + WORDS)}"]
    flags = ["--set", *settings] if chance.random() < 0.3 else []
    output = ["-o", "out"] if chance.random() < 0.5 else []
    return _case(chance, number, "study", ["sweep", "study.toml", "--dry-run", *output, *flags], files)


def _csv_case(chance: Chance, number: int) -> Case:
    """Figures of another tool, or an export that was edited."""
    text = chance.choice((materials.CSV, materials.CSV, materials.exported_csv()))
    files: Tree = {"in.csv": text}
    for _ in range(chance.choice((1, 1, 2, 3))):
        _corrupt(chance, files, "in.csv")
    command = chance.choice(("fit", "fit", "capacity", "capacity", "show", "export", "compare", "report"))
    options = {
        "capacity": _sizing(chance),
        "export": ["--format", "csv", "-o", "out"],
        "compare": ["in.csv"],
        "report": ["-o", "out"],
        "fit": ["--physical", chance.choice(("1", "2", "64"))] if chance.random() < 0.3 else [],
    }
    return _case(chance, number, "csv", [command, "in.csv", *options.get(command, [])], files, ("out",))


def _tool_case(chance: Chance, number: int) -> Case:
    """A file that another tool wrote and somebody edited."""
    name = chance.choice(("in.json", "in/runs-2.json"))
    files: Tree = {name: chance.choice(materials.TOOL_FILES)}
    for _ in range(chance.choice((1, 1, 2, 3))):
        _corrupt(chance, files, name)
    source = name.partition("/")[0]
    cores_from = chance.choice(([], ["--cores-from", chance.choice(("threads", "size", *WORDS))]))
    command = chance.choice(("show", "show", "fit", "capacity", "compare", "report"))
    options = {"compare": [source, "--fail-above", chance.choice(("5%", *WORDS))], "report": ["-o", "out"]}
    return _case(chance, number, "tool", [command, source, *options.get(command, []), *cores_from], files, ("out",))


# Options that take no value.
FLAGS = {"--json", "--cheapest", "--across-machines", "--sections", "--why", "--quantiles"}
FLAGS |= {"--weak", "--shell"}
OPTIONS = {
    "show": ["--json", "--cores-from", "--column", "--sections", "--why", "--quantiles"],
    "fit": ["--law", "--physical", "--json"],
    "capacity": [
        *("--throughput", "--latency", "--efficiency", "--hourly-budget", "--core-hour", "--assurance", "--gpu-hour"),
        *("--replica-hour", "--objective", "--work", "--epochs", "--deadline", "--quantile"),
        *("--format", "--physical"),
    ],
    "compare": ["--across-machines", "--between", "--set", "-o", "--fail-above"],
    "export": ["--format", "-o"],
    "profile": ["--predict", "--threads", "--steps", "--mode", "--json", "--on-machine", "--ceilings", "--measured"],
    "plot": ["--target", "--ceilings", "--format"],
    "report": ["--target"],
    "machine place": ["--cores", "--smt", "--placement", "--reserve", "--within", "--core-type", "--root"],
    "machine topology": ["--root"],
    "machine doctor": ["--root"],
    "sweep": ["--budget", "--set", "--cluster"],
    "tune": ["--cores", "--objective", "--budget", "--param", "--param", "--set"],
    "pack": [
        *("--cores", "--latency", "--quantile", "--mode", "--size", "--smt", "--placement", "--launches", "--rounds"),
        "--budget",
    ],
    "run": [
        *("--cores", "--smt", "--placement", "--launches", "--budget", "--timeout", "--steps", "--warmup", "--items"),
        *("--throughput", "--seconds", "--env", "--cwd", "--stdin", "--setup", "--weak", "--shell", "--name"),
    ],
}
# Values that an option knows, beside hostile ones.
OPTION_WORDS = {
    "--param": [
        "b=1,2",
        "b=",
        "b=nan,inf",
        "b=1e400,0x10",
        "serial=0,1",
        "serial=2,x",
        "cores=1,2",
        "b=\x1b,☃",
        "b=" + "1," * 3000 + "2",
    ],
    "--set": [
        *("intra=[1]", "replicas=2", "design=apart", "device=gpu", "steps=5", "cpu_power_watts=50", "data=pipeline"),
        *("workloads=vgg", "beside=calibrated", 'framework=["jax", "torch"]', "modes=infer", "onednn=[true, false]"),
    ],
    "--objective": ["energy", "throughput-per-core", "throughput"],
    "--predict": ["4", "8,16", "65536", "1-9999"],
    "--format": ["kubernetes", "slurm", "systemd", "csv"],
    "--gpu-hour": ["2.5", "0"],
    "--budget": ["10m", "1e-9"],
    "--items": ["7", "([0-9]+) files", "(", "x*"],
    "--throughput": ["3", "rate: ([0-9.]+)", "("],
    "--smt": ["all", "1,2"],
    "--deadline": ["8h", "1s"],
    "--work": ["1000"],
    "--ceilings": ["in"],
    "--on-machine": ["in"],
    "--measured": ["in"],
}
SUBJECTS = ("calibrated", "autoenc", "stream", "calibrated serial=0.1", "no.py:f", "-- /bin/true", "-- /bin/true {b}")


def _options_case(chance: Chance, number: int) -> Case:
    """Options with hostile values over sound input."""
    command = chance.choice(list(OPTIONS))
    files: Tree = {f"in/{name}": text for name, text in materials.sweep_folder().items()}
    words = [] if command.startswith("machine ") else ["in"]
    subject = [chance.choice(SUBJECTS)] if command in ("tune", "pack", "run") else []
    if subject or command == "sweep":
        words = ["--dry-run"]
    if command == "profile":
        files |= {f"in/{name}": text for name, text in materials.profile_folder().items()}
    for option in chance.choices(OPTIONS[command], k=chance.choice((1, 1, 2, 3))):
        words += [option] if option in FLAGS else [option, chance.choice(OPTION_WORDS.get(option, []) + WORDS)]
    words += [word for text in subject for word in text.split()]
    named = [value for option, value in pairwise(words) if option == "-o"]
    usual = ("in/figures", "in/report.html", *(f"in/rows.{one}" for one in materials.FORMATS), "out")
    return _case(chance, number, "options", [*command.split(), *words], files, (*usual, *named))


def _limit_case(chance: Chance, number: int) -> Case:
    """A file that is large, wide, long or full of extreme numbers, and otherwise sound."""
    make = chance.choice((_large_file, _large_file, _wide_table, _long_name, _long_key, _extreme_numbers))
    files, name = make(chance)
    folder = name.partition("/")[0]
    if name == "study.toml":
        return _case(chance, number, "limit", ["sweep", name, "--dry-run"], files)
    if name == "cluster.toml":
        arguments = ["sweep", "sound.toml", "--cluster", name, "-o", "out", "--no-report"]
        return _case(chance, number, "limit", arguments, files, ("out",))
    if name in ("in.csv", "in.json"):
        command = chance.choice(
            (["show"], ["fit"], ["capacity", *_sizing(chance)], ["export", "--format", "csv", "-o", "out"])
        )
        return _case(chance, number, "limit", [command[0], name, *command[1:]], files, ("out",))
    arguments, outputs = _reading_command(chance, folder)
    files |= {f"other/{path}": text for path, text in materials.sweep_folder().items()}
    return _case(chance, number, "limit", arguments, files, outputs)


Made = tuple[Tree, str]
BLANKS = " " * 200_000
SIZES = (2 * 2**20, 100 * 2**20, 300 * 2**20, 40 * 2**30)


def _some_folder(chance: Chance) -> Tree:
    made = chance.choices(list(FOLDERS), list(FOLDERS.values()))[0]()
    return {f"in/{path}": text for path, text in made.items()}


def _large_file(chance: Chance) -> Made:
    files = _some_folder(chance)
    singles: Tree = {"in.csv": materials.CSV, "in.json": chance.choice(materials.TOOL_FILES)}
    singles |= {"study.toml": materials.ONE_CORE, "cluster.toml": materials.CLUSTER, "sound.toml": materials.RESUMABLE}
    name = chance.choice([*files, *("in.csv", "in.json", "study.toml", "cluster.toml")])
    content = (files | singles)[name]
    assert isinstance(content, bytes)
    head = content[: chance.choice((0, 1, len(content) // 2, len(content)))]
    return (files if name in files else singles) | {name: Sparse(head, len(head) + chance.choice(SIZES))}, name


def _wide_table(chance: Chance) -> Made:
    text = chance.choice((materials.CSV, materials.exported_csv()))
    wide, place = chance.choice((900, 1100, 60_000)), chance.choice(("", "version_"))
    head, *lines = text.splitlines()
    names = b"".join(f",{place}{column}".encode() for column in range(wide))
    cells = b"," * wide if chance.random() < 0.8 else b""
    return {"in.csv": b"\n".join([head + names, *(line + cells for line in lines)]) + b"\n"}, "in.csv"


def _long_name(chance: Chance) -> Made:
    name = chance.choice(("BM" + BLANKS, "x" * 200_000, "BM" + BLANKS[:9_000], BLANKS, "[,;" * 3000, "token=" * 50_000))
    place = chance.choice(("csv", "tool", "rows", "study"))
    if place == "csv":
        return {"in.csv": materials.CSV.replace(b",a,", f",{name},".encode())}, "in.csv"
    if place == "study":
        return {"study.toml": materials.ONE_CORE.replace(b"calibrated", f"calibrated {name}".encode())}, "study.toml"
    if place == "rows":
        files: Tree = {f"in/{path}": text for path, text in materials.sweep_folder().items()}
        files["in/rows.jsonl"] = b"".join(_row_lines(files)).replace(b"calibrated", f"calibrated {name}".encode())
        return files, "in/rows.jsonl"
    text = chance.choice(materials.TOOL_FILES)
    for known in (b"sort", b"BM"):
        text = text.replace(known, name.encode())
    return {"in.json": text}, "in.json"


def _long_key(chance: Chance) -> Made:
    """Durations of many characters, and tables of many keys or in great number."""
    duration = chance.choice(("1h" + BLANKS, "9" * 400, "1" * 200_000 + "s", BLANKS + "1s", "1:00:00" * 20_000))
    keys = "".join(f"x{key} = 1\n" for key in range(50_000))
    tables = "".join(f'[[node_types]]\nname = "a{key % 20_000}"\n' for key in range(20_001))
    if chance.random() < 0.5:
        toml = chance.choice((materials.CLUSTER.replace(b"4h", duration.encode()), tables.encode(), keys.encode()))
        return {"cluster.toml": toml, "sound.toml": materials.RESUMABLE}, "cluster.toml"
    question = f'question = "{BLANKS}"\n'.encode()
    toml = chance.choice((keys.encode() + materials.ONE_CORE, question + materials.ONE_CORE))
    return {"study.toml": toml}, "study.toml"


EXTREMES = (1e-320, 1e-300, 1e-31, 1e-13, 1e-12, 1e9, 1.1e9, 1e30, 1e31, 1e300, 1.7e308, -1e300, 2**53, 2**63, 2**64)


def _extreme_numbers(chance: Chance) -> Made:
    """The same number of a line, table or document becomes an extreme one, everywhere or once."""
    extreme = chance.choice(EXTREMES)
    place = chance.choice(("csv", "tool", "rows", "rows", "rows"))
    if place == "csv":
        lines = materials.CSV.splitlines()
        column = chance.choice((0, 1))
        for line in range(1, len(lines)) if chance.random() < 0.5 else [chance.randrange(1, len(lines))]:
            cells = lines[line].split(b",")
            cells[column] = repr(extreme).encode()
            lines[line] = b",".join(cells)
        return {"in.csv": b"\n".join(lines) + b"\n"}, "in.csv"
    files: Tree = _some_folder(chance) if place == "rows" else {"in.json": chance.choice(materials.TOOL_FILES)}
    name = chance.choice([path for path in files if path.endswith((".json", ".jsonl"))])
    content = files[name]
    assert isinstance(content, bytes)
    files[name] = _change_json(chance, content, lambda value: extreme if _is_number(value) else value)
    return files, name


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tuning_case(chance: Chance, number: int) -> Case:
    """A search whose settings somebody edited."""
    files: Tree = {f"in/{name}": text for name, text in materials.tuned_folder().items()}
    for _ in range(chance.choice((1, 1, 2))):
        content = files["in/tuning.json"]
        assert isinstance(content, bytes)
        files["in/tuning.json"] = _change_json(chance, content, _change(chance))
    command = chance.choice((["show", "in"], ["show", "in", "--json"], ["report", "in", "-o", "out"]))
    return _case(chance, number, "tuning", command, files, ("out",))


def _cluster_case(chance: Chance, number: int) -> Case:
    """A hostile cluster file, for a sweep or in a folder."""
    if chance.random() < 0.5:
        files: Tree = {"cluster.toml": _corrupt_toml(chance, materials.CLUSTER), "study.toml": materials.RESUMABLE}
        arguments = ["sweep", "study.toml", "--cluster", "cluster.toml", "-o", "out", "--no-report"]
        return _case(chance, number, "cluster", arguments, files, ("out",))
    files = {f"in/{name}": text for name, text in materials.cluster_folder().items()}
    files["in/cluster.toml"] = _corrupt_toml(chance, materials.CLUSTER)
    command = chance.choice((["status", "in"], ["show", "in"], ["capacity", "in", *_sizing(chance)], ["fit", "in"]))
    return _case(chance, number, "cluster", command, files)


def _machine_case(chance: Chance, number: int) -> Case:
    """A damaged recording of a machine."""
    files: Tree = {f"root/{name}": text for name, text in materials.recorded_machine().items()}
    texts = [
        "0-",
        "9999999999",
        "0-99999999",
        "ffffffff" * 5000,
        "-1",
        "x",
        "",
        "3-0",
        "0-3,0-3",
        "☃",
        "\x1b[2J",
        "1e9",
        "max",
    ]
    for _ in range(chance.choice((1, 1, 2, 4))):
        name = chance.choice(list(files))
        if chance.random() < 0.6:
            files[name] = chance.choice(texts).encode()
        else:
            _corrupt(chance, files, name)
    command = chance.choice((["topology"], ["doctor"], ["place", "--cores", chance.choice(("1", "2", "4"))]))
    return _case(chance, number, "machine", ["machine", *command, "--root", "root", *_json(chance)], files)


Maker = Callable[[Chance, int], Case]
MAKERS: dict[Maker, int] = {
    _harmless_case: 10,
    _runs_case: 2,
    _folder_case: 46,
    _output_case: 4,
    _resume_case: 3,
    _search_case: 1,
    _study_case: 15,
    _csv_case: 12,
    _tool_case: 8,
    _options_case: 18,
    _cluster_case: 5,
    _machine_case: 5,
    _limit_case: 14,
    _tuning_case: 4,
}


def _case(
    chance: Chance, number: int, kind: str, arguments: Sequence[str], files: Tree, outputs: Sequence[str] = ()
) -> Case:
    encoding = "ascii" if chance.random() < 0.05 else "utf-8"
    data = arguments[0] == "export" and "-" in arguments
    return Case(number, kind, tuple(arguments), files, tuple(outputs), encoding, data)


def _reading_command(chance: Chance, folder: str) -> tuple[list[str], tuple[str, ...]]:
    """A command that reads a folder, and what it may write."""
    commands: dict[str, tuple[float, Callable[[], list[str]], tuple[str, ...]]] = {
        "show": (8, lambda: [*_view(chance), *_json(chance)], ()),
        "fit": (6, lambda: _json(chance), ()),
        "capacity": (5, lambda: [*_sizing(chance), *_json(chance)], ()),
        "compare": (4, lambda: ["other", *_json(chance), *chance.choice(([], ["--across-machines"]))], ()),
        "export": (
            5,
            lambda: ["--format", chance.choice(materials.FORMATS), "-o", chance.choice(("out", "-"))],
            ("out",),
        ),
        "profile": (4, lambda: [*chance.choice(([], ["--predict", "4"])), *_json(chance)], ()),
        "status": (1, lambda: _json(chance), ()),
        "workloads": (1, lambda: _json(chance), ()),
        "plot": (0.3, lambda: ["--format", "svg", "-o", "out"], ("out",)),
        "report": (0.3, lambda: ["-o", "out"], ("out", "out-wide", "out-small")),
    }
    name = chance.choices(list(commands), [weight for weight, *_ in commands.values()])[0]
    _, options, outputs = commands[name]
    return [name, folder, *options()], outputs


def _sizing(chance: Chance) -> list[str]:
    questions = (["--throughput", "3"], ["--latency", "0.2"], ["--efficiency", "0.5"], ["--hourly-budget", "4"])
    energy = (["--objective", "energy"], ["--throughput", "3", "--gpu-hour", "2"])
    return chance.choice((*questions, *energy, ["--cheapest"], []))


def _view(chance: Chance) -> list[str]:
    return chance.choice(([], [], ["--sections"], ["--why"], ["--quantiles"]))


def _json(chance: Chance) -> list[str]:
    return chance.choice(([], ["--json"]))


def _corrupt(chance: Chance, files: Tree, name: str) -> None:
    """Spoil a file, or put something else in its place."""
    content = files.get(name, b"")
    if not isinstance(content, bytes):
        return
    way = chance.random()
    if way < 0.05:
        files.pop(name, None)
    elif way < 0.12 and name.startswith("in/"):
        sound = f"other/{name.rpartition('/')[2]}"
        links = ("bystander", "bystander.d", "nowhere", "/dev/null", "/dev/zero", "/proc/self/mem", name, sound)
        contents: list[Content] = [Special("pipe"), Special("folder"), *map(Link, links)]
        files[name] = chance.choice(contents)
    elif way < 0.35:
        files[name] = _corrupt_bytes(chance, content)
    elif name.endswith(".toml"):
        files[name] = _corrupt_toml(chance, content)
    elif name.endswith((".json", ".jsonl")):
        files[name] = _corrupt_json_lines(chance, content)
    elif name.endswith(".csv"):
        files[name] = _corrupt_csv(chance, content)
    else:
        files[name] = _corrupt_bytes(chance, content)


def _corrupt_bytes(chance: Chance, text: bytes) -> bytes:
    at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    junk = chance.choice([*BYTES, chance.randbytes(8)])
    return chance.choice(
        (text[:at], text[:at] + junk + text[at:], text[:at] + junk + text[end:], text[:at] + text[end:], b"")
    )


def _corrupt_json_lines(chance: Chance, text: bytes) -> bytes:
    """Change one value of one line or the same value of all, or the order and number of lines."""
    lines = text.split(b"\n") if text.count(b"\n") > 2 and text.startswith(b'{"') else [text]
    way = chance.random()
    if way < 0.15:
        chance.shuffle(lines)
        return b"\n".join(lines[: chance.randrange(len(lines) + 1)] + lines[:3])
    try:
        parsed = [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError):
        return _corrupt_bytes(chance, text)
    paths = sorted(_paths(chance.choice(parsed)), key=repr) if parsed else []
    if not paths:
        return _corrupt_bytes(chance, text)
    path, change = chance.choice(paths), _change(chance)
    return _written(parsed, parsed if way < 0.6 else [chance.choice(parsed)], path, change)


def _written(parsed: list[Any], chosen: list[Any], path: tuple[Any, ...], change: Callable[[Any], Any]) -> bytes:
    for value in chosen:
        _apply(value, path, change)
    written = "\n".join(json.dumps(value) for value in parsed) + "\n"
    return written.replace(f'"{DEEP}"', "[" * 5000 + "]" * 5000).encode()


def _change_json(chance: Chance, text: bytes, change: Callable[[Any], Any]) -> bytes:
    """Change a value of one line, or the same value of all; the text is sound."""
    try:
        parsed = [json.loads(text)]
    except ValueError:
        parsed = [json.loads(line) for line in text.splitlines() if line.strip()]
    paths = sorted(_paths(chance.choice(parsed), 6), key=repr) if parsed else []
    if not paths:
        return text
    return _written(parsed, parsed if chance.random() < 0.5 else [chance.choice(parsed)], chance.choice(paths), change)


def _paths(value: Any, limit: int = 4) -> list[tuple[Any, ...]]:
    """The ways to every value within a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [
        way for key, inner in items for way in ((key,), *((key, *rest) for rest in _paths(inner, limit - 1) if limit))
    ]


REMOVED = object()


def _change(chance: Chance) -> Callable[[Any], Any]:
    """What becomes of a value: gone, another one, or a number of another size."""
    way = chance.random()
    if way < 0.1:
        return lambda value: REMOVED
    if way < 0.35:
        factor = chance.choice((0, -1, 1e-300, 1e300, 1e12, 1e-12, 2, 0.5))
        return lambda value: value * factor if isinstance(value, int | float) else [value, value]
    other = chance.choice(VALUES)
    return lambda value: other


def _apply(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> None:
    """Change the value at a path, where there is such a path."""
    try:
        for key in path[:-1]:
            value = value[key]
        changed = change(value[path[-1]])
        if changed is REMOVED:
            del value[path[-1]]
        else:
            value[path[-1]] = changed
    except (KeyError, IndexError, TypeError):
        return


def _keys(toml: bytes) -> list[str]:
    return re.findall(r"^(\w+) =", toml.decode(errors="surrogateescape"), re.MULTILINE)


def _corrupt_toml(chance: Chance, toml: bytes) -> bytes:
    """Give keys other values, repeat one, or damage the text."""
    if chance.random() < 0.2:
        return _corrupt_bytes(chance, toml)
    for _ in range(chance.choice((1, 1, 2, 4))):
        toml = _set_in_toml(toml, f"{chance.choice([*_keys(toml), 'x'])} = {chance.choice(TOML_VALUES)}")
    return toml


def _set_in_toml(toml: bytes, line: str) -> bytes:
    """A text with a line in the place of its key's, or first where it has no such key."""
    key, text = line.partition(" =")[0], toml.decode(errors="surrogateescape")
    text = re.sub(rf"^{key} = .*$", line.replace("\\", r"\\"), text, count=1, flags=re.MULTILINE)
    return (text if line in text else f"{line}\n{text}").encode(errors="surrogateescape")


def _corrupt_csv(chance: Chance, text: bytes) -> bytes:
    """Give a field another value, or change columns and separators."""
    lines = [line.split(b",") for line in text.splitlines()] or [[b""]]
    way = chance.random()
    values = [word.encode(errors="surrogateescape") for word in (*WORDS, *map(str, NUMBERS))]
    if way < 0.5:
        line = chance.choice(lines)
        line[chance.randrange(len(line))] = chance.choice(values)
    elif way < 0.7:
        at = chance.randrange(len(lines[0]))
        for line in lines[1:]:
            line[at : at + 1] = [chance.choice(values)]
    elif way < 0.8:
        at = chance.randrange(len(lines[0]))
        for line in lines:
            del line[at : at + 1]
    else:
        chance.shuffle(lines)
    separator = chance.choice((b",", b",", b",", b";", b"\t"))
    return b"\n".join(map(separator.join, lines)) + b"\n"
