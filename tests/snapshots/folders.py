"""Results folders and files of the snapshots, each made by the function that has its name."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.shared.devices import pretend_study, write_folder
from benchmarks.shared.machines import HOST, AmdahlMachine, machine, row, study
from benchmarks.shared.packs import PackedMachine, model, pack_study
from benchmarks.shared.power import metered_rows
from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.turns import Turn
from scaling.results.compressed import open_part
from scaling.results.rows import Figure, Outcome, Row, Sections, row_to_json
from scaling.results.store import Store
from scaling.study.planning import plan
from tests.published import NO_SINGLE, RAYTRACER
from tests.scaling.cli.folders import folder_of, swept_rows
from tests.scaling.machine.doctor.examined import EVERYTHING, Fault, plant
from tests.scaling.machine.invented import HYBRID, POWER9, files, parse_list, write
from tests.scaling.reporting.page import invented
from tests.scaling.reporting.results import made, stolen, written

FOUR = "cores = [1, 2, 4, 8]\nlaunches = 3"


def rows_of(toml: str, cores: int = 8, smt: int = 1, *, serial: float = 0.1, noise: float = 0.003) -> list[Row]:
    """The rows of a study of the calibrated workload."""
    return list(AmdahlMachine(serial, noise=noise).execute(plan(study(toml), machine(cores, smt)).runs))


def named(rows: Iterable[Row], workload: str) -> Iterator[Row]:
    """The same rows of a workload with another name."""
    for one in rows:
        yield replace(one, run=replace(one.run, point=replace(one.run.point, workload=workload)))


def witnessed(one: Row, **seen: object) -> Row:
    """The same row with another witness."""
    return replace(one, witness=replace(one.witness, **seen))  # type: ignore[arg-type]


def ended(one: Row, **facts: object) -> Row:
    """The same row with another outcome."""
    return replace(one, outcome=replace(one.outcome, **facts))  # type: ignore[arg-type]


def longer(one: Row, factor: float) -> Row:
    """The same row, each step so many times as long."""
    return ended(one, step_seconds=tuple(factor * seconds for seconds in one.outcome.step_seconds))


def amdahl(path: Path) -> None:
    """A workload with a serial fraction of a tenth on one, two and four cores."""
    folder_of(path, swept_rows())


def elsewhere(path: Path) -> None:
    """The same on another machine."""
    other = replace(HOST, host="other", cpu_model="Gustafson 1", fingerprint="f" * 16)
    folder_of(path, (replace(one, machine=other) for one in swept_rows(seed=2)))


def again(path: Path) -> None:
    """The same once more."""
    folder_of(path, swept_rows(seed=2))


def slower(path: Path) -> None:
    """The same, a tenth slower."""
    folder_of(path, swept_rows(one_core_seconds=1.1, seed=2))


def faster(path: Path) -> None:
    """The same, a tenth faster."""
    folder_of(path, swept_rows(one_core_seconds=0.9, seed=2))


def busy(path: Path) -> None:
    """The same while others took a CPU."""
    folder_of(path, (longer(witnessed(one, steal_seconds=10.0), 3.28) for one in swept_rows(seed=2)))


def crashes(path: Path) -> None:
    """The same, but it crashes on four cores."""
    crashed = Outcome("failed", "it crashed with signal 11")
    folder_of(path, (replace(one, outcome=crashed) if one.run.point.cores == 4 else one for one in swept_rows(seed=2)))


def few(path: Path) -> None:
    """Three launches of each point."""
    folder_of(path, (one for one in swept_rows() if one.run.launch <= 3))


def few_again(path: Path) -> None:
    """Three launches of each point, once more."""
    folder_of(path, (one for one in swept_rows(seed=2) if one.run.launch <= 3))


def other_items(path: Path) -> None:
    """Another point."""
    folder_of(path, rows_of("cores = 1\nitems = 7"))


def joined(path: Path) -> None:
    """Rows that are there twice, and one of another machine."""
    rows = swept_rows()
    other = replace(HOST, host="other", cpu_model="Gustafson 1", fingerprint="f" * 16)
    folder_of(path, [*rows, rows[0], rows[1], replace(rows[0], machine=other, started_at="2027-01-01T00:00:00+00:00")])


def empty(path: Path) -> None:
    """No row."""
    folder_of(path, [])


def nothing(path: Path) -> None:
    """No file."""
    path.mkdir()


def impossible(path: Path) -> None:
    """A row of no core between two that are well."""
    bad = row_to_json(row()).replace('"cores":4', '"cores":0')
    folder_of(path, [row(), bad, row()])


def eight(path: Path) -> None:
    """Eight workloads, and so more answers and notes than are printed."""
    folder_of(path, (one for digit in range(1, 11) for one in named(swept_rows(serial=0.2), f"program-{digit}")))


def sixteen(path: Path) -> None:
    """A machine of sixteen cores."""
    store = Store(path)
    store.write_machine(HOST, machine(16))
    for one in rows_of('cores = "doubling"\nlaunches = 3', 16, noise=0.001):
        store.append(one)
    store.close()


def threads(path: Path) -> None:
    """One and two threads per core, of which two are worth it."""
    rows = rows_of("cores = [1, 2, 4]\nsmt = [1, 2]", 4, 2)
    written((longer(one, 0.6) if one.run.point.smt == 2 else one for one in rows), path, 4, 2)


def weak(path: Path) -> None:
    """Weak scaling."""
    written(rows_of('cores = [1, 2, 4, 8]\nscale = "weak"'), path)


def quotas(path: Path) -> None:
    """CPU quotas, one of which throttled its runs."""
    rows = rows_of("cores = [2]\nquota = [0.5, 1.5]")
    written(
        (witnessed(one, throttled_periods=3, quota_periods=40) if one.run.point.quota else one for one in rows), path
    )


def fed(path: Path) -> None:
    """Fixed batches and a pipeline with one and two threads."""
    toml = 'workloads = "autoenc"\ncores = [1]\ndata = ["fixed", "pipeline"]\npipeline_threads = [1, 2]'
    rows = (
        witnessed(one, cpu_seconds=2.0, pipeline_cpu_seconds=0.25) if one.run.point.pipeline_threads else one
        for one in rows_of(toml)
    )
    written(rows, path)


def frameworks(path: Path) -> None:
    """A network under two frameworks."""
    rows = rows_of('workloads = ["fcn"]\nframework = ["tensorflow", "torch"]\ncores = [1, 2]\nlaunches = 3')
    written((longer(one, 1.3) if one.run.point.framework == "torch" else one for one in rows), path)


def sections(path: Path) -> None:
    """Whole processes, one of them forked."""
    first, *others = made(f'workloads = ["calibrated"]\n{FOUR}')
    written([replace(first, run=replace(first.run, start="fork")), *others], path)


def forked(path: Path) -> None:
    """Processes of a server alone."""
    folder_of(path, (replace(one, run=replace(one.run, start="fork")) for one in swept_rows()))


def reports_its_time(path: Path) -> None:
    """A program that times a part of itself."""
    rows = []
    for one in swept_rows(serial=0.2):
        seconds = 1.0 + sum(one.outcome.step_seconds)
        timed = ended(one, ended_by="executions", sections=Sections(run=seconds))
        rows.append(witnessed(timed, process_seconds=seconds))
    folder_of(path, rows)


# Seconds on two cores, CPUs busy, and facts of counters: a second on one core.
LOSSES: dict[str, tuple[float, float, dict[str, Any]]] = {
    "waits": (0.8, 1.3, {}),
    "spins": (0.8, 2.0, {}),
    "waits-and-spins": (0.8, 1.5, {}),
    "waits-and-gains": (0.45, 1.7, {}),
    "gains": (0.4, 2.0, {}),
    "loses-nothing": (0.5, 2.0, {}),
    "counted": (0.7, 2.0, {"instructions": 8_000_000_000, "cycles": 5_000_000_000}),
}


def losses(path: Path) -> None:
    """Programs that lose or gain efficiency in every way, with peak memory that grows or does not."""
    folder_of(path, (one for name in LOSSES for one in _losing(name)))


def _losing(name: str) -> Iterator[Row]:
    seconds, busy_cpus, counted = LOSSES[name]
    for one in rows_of("cores = [1, 2]\nlaunches = 3", noise=0.0005):
        cores = one.run.point.cores
        spread = 1.0 + 0.001 * (one.run.launch - 2)
        step = spread * (1.0 if cores == 1 else seconds)
        known: dict[str, Any] = {"cpu_seconds": 20 * step * (1.0 if cores == 1 else busy_cpus)}
        if counted:
            known |= {"instructions": 8_000_000_000, "cycles": 4_000_000_000} if cores == 1 else counted
        known["max_rss_bytes"] = (3 if cores == 1 or name == "spins" else 5) << 28
        (renamed,) = named([ended(one, step_seconds=(step,) * 20)], name)
        yield witnessed(renamed, **known)


# What the witness of launches on two cores has seen in their eleven seconds.
DOUBTS: dict[str, dict[str, Any]] = {
    "elsewhere": {"cpus_at_end": "6"},
    "strayed": {"cpus_visited": "0-3"},
    "idle-cpus": {"cpus_visited": "0", "busy_threads": 1},
    "exceeds": {"cpu_seconds": 60.0},
    "foreign": {"busy_seconds": 8.0, "cpu_seconds": 0.3},
    "siblings": {"sibling_busy_seconds": 4.0},
    "loaded": {"elsewhere_busy_seconds": 9.0},
    "stolen": {"steal_seconds": 5.0},
    "throttled": {"throttled_periods": 3, "quota_periods": 40},
    "waiting": {"run_queue_wait_seconds": 9.0, "busy_threads": 2},
    "pressed": {"pressure_seconds": 8.0},
    "clocked-down": {"mhz": 2000.0},
    "read": {"output": "read", "output_cpu_seconds": 3.0},
    "held": {"output_held_by": "sleep, sh"},
}


def doubts(path: Path) -> None:
    """A program for every doubt about what a run met."""
    usual = rows_of("cores = [1, 2]\nlaunches = 3\nintra = 'cpus'\ninter = 1")
    rows = [one for name in DOUBTS for one in map(_doubted, named(usual, name))]
    crowded = named(rows_of("cores = [1, 2]\nlaunches = 3\nintra = 6"), "oversubscribed")
    held = named((_with_run(ended(one, cautions=("it uses 3 threads instead of 2",))) for one in usual), "unheld")
    brief = rows_of("cores = [1, 2]\nlaunches = 3")
    short = named((witnessed(_with_run(one, 0.02), steal_seconds=0.0) for one in brief), "short")
    folder_of(path, [*rows, *map(_with_run, crowded), *held, *short])


def _doubted(one: Row) -> Row:
    known = _with_run(one)
    if one.run.point.workload == "clocked-down":
        return witnessed(known, mhz=2000.0 if one.run.launch == 2 else 3000.0)
    return witnessed(known, **DOUBTS[one.run.point.workload]) if one.run.point.cores == 2 else known


def _with_run(one: Row, seconds: float = 11.0) -> Row:
    return ended(one, sections=Sections(run=seconds, wall=seconds + 1.0))


def fixed_time(path: Path) -> None:
    """A program that takes as long on every count while its CPU time grows."""
    rows = []
    for one in rows_of("cores = [1, 2, 4]\nlaunches = 3", serial=1.0):
        seconds = sum(one.outcome.step_seconds)
        known = ended(one, ended_by="executions", sections=Sections(run=seconds, wall=seconds))
        rows.append(witnessed(known, process_seconds=seconds, cpu_seconds=seconds * one.run.point.cores))
    folder_of(path, rows)


def generator(path: Path) -> None:
    """A service whose load generator is busy, and one that shares cores with it."""
    usual = rows_of("cores = [1, 2]\nlaunches = 3")
    known = {
        "bound": (Figure("generator_busy", (0.97,)), Figure("server_busy", (0.4,)), Figure("shared_cpus", (0.0,))),
        "shared": (Figure("generator_busy", (0.5,)), Figure("server_busy", (0.9,)), Figure("shared_cpus", (2.0,))),
    }
    folder_of(path, (ended(one, figures=known[name]) for name in known for one in named(usual, name)))


def adjusted(path: Path) -> None:
    """Turns on a host that was busy in nearly all of them."""
    rows = []
    for one in invented.laws(workloads=["busy host"]):
        turns = tuple(_never_quite_quiet(turn) for turn in one.outcome.turns)
        rows.append(ended(one, turns=turns))
    invented.write_folder(rows, path)


def _never_quite_quiet(turn: Turn) -> Turn:
    return replace(turn, steal_seconds=(turn.steal_seconds or 0.0) + 0.2 * turn.seconds)


def launches(path: Path) -> None:
    """Programs whose launches say little: too few, too short, equal, apart, failed, of two speeds."""
    folder_of(path, _of_little_use())


def _of_little_use() -> Iterator[Row]:
    usual = rows_of("cores = [1, 2]\nlaunches = 3")
    yield from named((one for one in usual if one.run.launch == 1), "one-launch")
    yield from named((one for one in usual if one.run.launch < 3), "two-launches")
    yield from named((ended(one, step_seconds=one.outcome.step_seconds[:1]) for one in usual), "one-step")
    yield from named((ended(one, step_seconds=(0.1,) * 20) for one in usual), "equal")
    yield from named((ended(one, step_seconds=()) for one in usual), "no-step")
    yield from named((longer(one, 1.0 + 0.08 * one.run.launch) for one in usual), "wide")
    yield from named((longer(one, 4.0**one.run.launch) for one in usual), "far-apart")
    yield from named((longer(one, 1.2**one.run.launch) if one.run.point.cores == 1 else one for one in usual), "drifts")
    yield from named((_of_two_speeds(one) for one in usual), "two-speeds")
    yield from named((replace(one, outcome=Outcome("failed", "it broke")) for one in usual), "broken")
    yield from named((_timed_out(one) for one in usual), "slow")


def _of_two_speeds(one: Row) -> Row:
    first = one.outcome.step_seconds[:10]
    return ended(one, step_seconds=(*first, *(1.3 * seconds for seconds in first)))


def _timed_out(one: Row) -> Row:
    if one.run.point.cores == 1:
        return one
    return replace(one, outcome=Outcome("timeout", "it took longer than 60 s", stderr_tail="still counting\n"))


def broken(path: Path) -> None:
    """A program that always fails."""
    failed = Outcome("failed", "killed by signal 9 (out of memory?)", stderr_tail="no memory left\n")
    written((replace(one, outcome=failed) for one in rows_of(FOUR)), path)


def one_point(path: Path) -> None:
    """A single run."""
    folder_of(path, [row()])


def disturbed(path: Path) -> None:
    """A program that was disturbed on four cores, and others on more than two, on one, or on all."""
    usual = rows_of("cores = [1, 2, 4]\nlaunches = 3")
    rows = [
        *named((stolen(one) if one.run.point.cores == 4 else one for one in usual), "on-four"),
        *named((stolen(one) if one.run.point.cores == 1 else one for one in usual), "on-one"),
        *named((stolen(one) if one.run.point.cores > 2 else one for one in rows_of(FOUR)), "on-most"),
        *named(map(stolen, usual), "everywhere"),
    ]
    written(rows, path)


def busy_host(path: Path) -> None:
    """Turns on a busy host."""
    invented.write_folder(list(invented.laws(workloads=["busy host"])), path)


def never_quiet(path: Path) -> None:
    """Turns of which none was quiet."""
    rows = []
    for one in invented.laws(workloads=["busy host"]):
        turns = tuple(replace(turn, steal_seconds=1.0) for turn in one.outcome.turns)
        rows.append(ended(one, turns=turns))
    invented.write_folder(rows, path)


def laws(path: Path) -> None:
    """Programs that follow a law, another, or none."""
    invented.write_folder(invented.laws(workloads=["amdahl", "usl", "falling clock", "no law", "superlinear"]), path)


def memory(path: Path) -> None:
    """Launches that had 101 to 105 MiB."""
    rows = (witnessed(one, max_rss_bytes=(100 + one.run.launch) * 2**20) for one in invented.laws(workloads=["amdahl"]))
    invented.write_folder(list(rows), path)


def one_core_count(path: Path) -> None:
    """Two workloads on four cores alone."""
    rows = [one for one in rows_of("cores = [4]") if one.run.point.cores == 4]
    folder_of(path, [*named(rows, "alpha"), *named(rows, "beta")])


def packs(path: Path) -> None:
    """Replicas that slow each other down."""
    written(PackedMachine(slowdown=model(0.1), noise=0.001, drift=0.001).rows(pack_study(launches="4")), path)


def packs_disturbed(path: Path) -> None:
    """Replicas of one core, disturbed in all turns."""
    rows = PackedMachine().rows(pack_study(launches="4"))
    written((_robbed(one) if one.run.point.cores == 1 else one for one in rows), path)


def _robbed(one: Row) -> Row:
    turns = tuple(replace(turn, steal_seconds=turn.seconds) for turn in one.outcome.turns)
    return ended(one, turns=turns)


def mixed_packs(path: Path) -> None:
    """Two workloads side by side."""
    toml = 'workloads = ["calibrated", "stream"]\nbeside = ["calibrated", "stream"]\ncores = 4\ndesign = "turns"'
    written(PackedMachine(slowdown=model(0.1), noise=0.001).rows(study(toml, launches="3")), path)


def energy(path: Path) -> None:
    """Every size, metered."""
    rows = metered_rows(study('cores = "all"', launches="5"))
    told = []
    for one in rows:
        meters = tuple(replace(meter, sampled_joules=1.01 * meter.joules) for meter in one.energy)
        told.append(replace(one, energy=meters))
    written(told, path)


def caps(path: Path) -> None:
    """Two workloads under caps of the CPU's power."""
    toml = 'workloads = ["calibrated", "stream"]\ncores = [4]\ncpu_power_watts = ["none", 45, 15]\n'
    written(metered_rows(study(toml, launches="5")), path)


def both_caps(path: Path) -> None:
    """Caps of power and of clocks."""
    toml = 'cores = [4]\ncpu_power_watts = ["none", 45, 30]\ncpu_max_mhz = ["none", 2400]\n'
    written(metered_rows(study(toml, launches="5")), path)


def devices(path: Path) -> None:
    """Networks on the CPU alone and on a GPU."""
    write_folder(path, pretend_study("devices"))


CLUSTER = """
[[node_types]]
name = "quick"
core_hour = 4.0

[[node_types]]
name = "cheap"
core_hour = 1.0
nodes = 2

[[node_types]]
name = "never"
"""


def cluster(path: Path) -> None:
    """Two node types, one with two machines, and one that was not measured yet."""
    path.mkdir()
    (path / "cluster.toml").write_text(CLUSTER)
    counts = study("cores = [1, 2, 3, 4, 6, 8, 12, 16]", launches="4")
    for name, seconds in (("quick", 0.5), ("cheap", 1.0)):
        store = Store(path / name)
        store.write_machine(HOST, machine(16))
        for number, one in enumerate(AmdahlMachine(0.05, seconds, 0.002).execute(plan(counts, machine(16)).runs)):
            host = f"{name}{number % 2}" if name == "cheap" else name
            store.append(replace(one, machine=replace(HOST, host=host)))
        store.close()


def cluster_begun(path: Path) -> None:
    """Node types without a row."""
    path.mkdir()
    (path / "cluster.toml").write_text(CLUSTER)


def personal(path: Path) -> None:
    """Rows that tell of a person, as they once did."""
    rows = []
    private = {"USER": "ada", "HOME": "/home/ada", "PATH": "/home/ada/bin", "LC_SECRET_PROJECT": "x", "LANG": "C"}
    for one in named(rows_of("cores = [1, 2]\nlaunches = 3"), "command: ./prog --token=hunter2"):
        rows.append(replace(one, environment=tuple(private.items())))
    written(rows, path)


def power9(path: Path) -> None:
    """A machine with CPUs offline and a quota."""
    write(path, files(replace(POWER9, quota_cpus=2.5, allowed=parse_list("0-103"))))


def hybrid(path: Path) -> None:
    """A machine with two types of core."""
    write(path, files(HYBRID))


def healthy(path: Path) -> None:
    """A machine that the doctor finds well."""
    plant(path, Fault())


def ill(path: Path) -> None:
    """A machine with every fault."""
    plant(path, EVERYTHING)


def _csv(path: Path, points: Iterable[tuple[object, ...]], columns: str = "cores,throughput") -> None:
    lines = (",".join(map(str, point)) for point in points)
    path.write_text("\n".join([columns, *lines, ""]))


def rays_csv(path: Path) -> None:
    """The ray tracer of BRL-CAD, as published."""
    _csv(path, RAYTRACER)


def odd_csv(path: Path) -> None:
    """Throughputs that no law describes, none of one core."""
    _csv(path, NO_SINGLE)


def scattered_csv(path: Path) -> None:
    """Launches that are four times apart."""
    _csv(path, [(1, 10), (1, 40), (2, 6), (2, 20), (4, 3), (4, 12)], "cores,seconds")


def both_csv(path: Path) -> None:
    """Two series, one of one core count."""
    lines = [("a", 1, 4), ("a", 1, 4.1), ("a", 2, 2.1), ("a", 2, 2.2), ("b", 4, 3), ("b", 4, 3.1)]
    _csv(path, lines, "series,cores,seconds")


def halves_csv(path: Path) -> None:
    """Counts that are not whole."""
    _csv(path, [(1, 4), (1.5, 3), (3, 2)], "cores,seconds")


def words_csv(path: Path) -> None:
    """A word among the times."""
    _csv(path, [(1, "x"), (2, 1)], "cores,seconds")


def before_csv(path: Path) -> None:
    """A program on four cores."""
    _csv(path, [(4, 3.20), (4, 3.21), (4, 3.22), (4, 3.25)], "cores,seconds")


def after_csv(path: Path) -> None:
    """The same program, slower."""
    _csv(path, [(4, 3.60), (4, 3.61), (4, 3.62), (4, 3.65)], "cores,seconds")


def perfect_csv(path: Path) -> None:
    """No serial fraction."""
    _csv(path, [(cores, cores * (1 + 0.001 * (cores % 3 - 1))) for cores in (1, 2, 3, 4, 6, 8, 12, 16)])


def slower_csv(path: Path) -> None:
    """A program that gets slower with cores."""
    times = {1: 10.0, 2: 14.0, 4: 20.0, 8: 28.0, 16: 40.0}
    lines = [(cores, factor * seconds) for cores, seconds in times.items() for factor in (1.0, 1.01)]
    _csv(path, lines, "cores,seconds")


def shared_csv(path: Path) -> None:
    """Threads of which two share a core from nine on."""
    threads = [(count, min(count, 8) + 0.25 * max(0, count - 8)) for count in (1, 2, 4, 6, 8, 10, 12, 14, 16)]
    _csv(path, [(count, n / (1 + 0.02 * (n - 1))) for count, n in threads])


def columns_csv(path: Path) -> None:
    """Columns with other names."""
    _csv(path, [(1, 4), (2, 2.2), (4, 1.3), (8, 0.9)], "n,s")


def stated(path: Path) -> None:
    """Workloads that state their serial fraction, one of them wrongly."""
    usual = rows_of("cores = [1, 2, 4, 8]\nlaunches = 3")
    right, wrong = (StatedTruth(serial, 0.0) for serial in (0.1, 0.2))
    rows = [
        *named((ended(one, truth=right) for one in usual), "right"),
        *named((ended(one, truth=wrong) for one in usual), "wrong"),
    ]
    written(rows, path)


def service(path: Path) -> None:
    """A server with a law over clients, whose second core is worth four fifths of the first."""
    counts = [(cores, clients) for cores in (1, 2) for clients in (1, 2, 4, 8, 16, 32, 64)]
    rates = {(cores, clients): usl(clients) * (1.8 if cores == 2 else 1.0) for cores, clients in counts}
    folder_of(path, (one for point, rate in rates.items() for one in _served(*point, rate)))


def offered(path: Path) -> None:
    """A server at a rate that was offered."""
    folder_of(path, _served(1, 8, 1_245_000.0, offered_rate=1_250_000.0))


def service_once(path: Path) -> None:
    """A server that was launched once."""
    folder_of(path, [*_served(1, 8, 1000.0)][:1])


def service_falls(path: Path) -> None:
    """A server that does less with more clients."""
    rates = {1: 1000.0, 2: 1900.0, 4: 3600.0, 8: 3500.0, 16: 1700.0, 32: 900.0, 64: 850.0}
    folder_of(path, (one for clients, rate in rates.items() for one in _served(1, clients, rate)))


def usl(clients: int) -> float:
    """Requests per second of so many clients, by the universal scalability law."""
    return 1000.0 * clients / (1 + 0.05 * (clients - 1) + 0.001 * clients * (clients - 1))


def _served(cores: int, clients: int, rate: float, offered_rate: float | None = None) -> Iterator[Row]:
    figures = {"generator_cpus": 0.5, "generator_busy": 0.5, "server_busy": 1.0, "shared_cpus": 0.0}
    for one in rows_of(f"cores = [{cores}]\nlaunches = 5"):
        if one.run.point.cores != cores or one.run.launch > 5:
            continue
        noise = one.run.launch - 3
        settings = {"workload": "echo", "mode": "run", "clients": clients, "rate": offered_rate}
        run = replace(one.run, point=replace(one.run.point, **settings))  # type: ignore[arg-type]
        known = {**figures, "p99": 0.002 * (1 + 0.01 * noise)}
        seen = tuple(Figure(name, (value,)) for name, value in known.items())
        served = ended(replace(one, run=run), step_seconds=((1 + 0.002 * noise) / rate,) * 20, figures=seen)
        yield witnessed(served, max_rss_bytes=2**27)


def gpus(path: Path) -> None:
    """A network on cores alone under two frameworks, and on a GPU fifty times as fast."""
    toml = f'workloads = ["alexnet"]\nframework = ["torch", "jax"]\ndevice = ["cpu", "gpu"]\n{FOUR}'
    faster = {("cpu", "torch"): 1.0, ("cpu", "jax"): 1.1, ("gpu", "torch"): 40.0, ("gpu", "jax"): 50.0}
    written((longer(one, 1.0 / faster[one.run.point.device, one.run.point.framework]) for one in rows_of(toml)), path)


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def profiles(path: Path) -> None:
    """The profiles of two networks."""
    _copy_traces(path, ("vgg", "residual"))


def disturbed_profile(path: Path) -> None:
    """The profile of a network whose launches were disturbed."""
    _copy_traces(path, ("memnet",))


def quiet_profile(path: Path) -> None:
    """The profile of a network on one to sixteen threads."""
    _copy_traces(path, ("autoenc",), "profiles-now-sixteen")


def _copy_traces(path: Path, networks: Iterable[str], example: str = "profiles-small") -> None:
    path.mkdir()
    names = [f'"workload":"{name}"'.encode() for name in networks]
    with open_part(EXAMPLES / example / "traces.jsonl.xz") as lines:
        kept = [line for line in lines if any(name in line for name in names)]
    (path / "traces.jsonl").write_bytes(b"".join(kept))


def broken_toml(path: Path) -> None:
    """A study that is no TOML."""
    path.write_text("workloads = [")


def no_text_toml(path: Path) -> None:
    """A study that is no text."""
    path.write_bytes(b"\xff\xfe\x00")


def no_workloads_toml(path: Path) -> None:
    """A study of nothing."""
    path.write_text("cores = 1")


def jit_toml(path: Path) -> None:
    """A study of steps compiled by XLA."""
    path.write_text('workloads = "memnet"\njit = true')


def jax_toml(path: Path) -> None:
    """A study of a network under JAX."""
    path.write_text('workloads = "fcn"\nframework = "jax"')


def gpu_toml(path: Path) -> None:
    """A study of a network on a GPU."""
    path.write_text('workloads = "fcn"\ndevice = "gpu"')


def fed_toml(path: Path) -> None:
    """A study of a network fed by a pipeline."""
    path.write_text('workloads = "memnet"\ndata = "pipeline"')
