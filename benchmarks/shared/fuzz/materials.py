"""Sound input to corrupt: results folders, a profile, a cluster's folder, CSV and JSON files, a machine; as bytes."""

import json
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path

from benchmarks.shared import machines, packs
from benchmarks.shared.power import metered_rows
from scaling.analysis.energy import MeterEnergy
from scaling.analysis.traces import OpTime, TracedStep
from scaling.analysis.turns import Turn
from scaling.machine.doctor.findings import Finding
from scaling.machine.sysfs import read_machine, read_topology
from scaling.machine.topology import Machine, Topology
from scaling.results.export import write_export
from scaling.results.rows import Row, launch_of
from scaling.results.store import Store
from scaling.results.traces import MeterTrace, PowerTrace, TracedRow, power_to_json, traced_row_to_json
from scaling.study.planning import Run, plan, traced_plan
from scaling.study.spec import study_from_toml, study_to_toml

Files = dict[str, bytes]

STUDY = b"""workloads = ["calibrated serial=0.1"]
cores = [1, 2, 4, 8]
launches = 3
design = "apart"
placements = ["compact"]
items = ["default"]
max_seconds = 5.0
timeout_seconds = 60
reserve = []
name = "sound"
seed = 7
"""
# One core, which every machine has, so that a study is not refused for its cores alone.
ONE_CORE = STUDY.replace(b"[1, 2, 4, 8]", b"[1]")
# As small as a run can be: a resumed sweep makes those that are missing.
RESUMABLE = b"""workloads = ["calibrated work=0.001 serial=1"]
cores = 1
launches = 2
max_seconds = 1e-9
timeout_seconds = 20
"""
# On a GPU and beside it, with a cap of its power; and on CPUs under caps.
ON_GPU = (
    STUDY.replace(b"calibrated serial=0.1", b"fcn").replace(b"[1, 2, 4, 8]", b"[1, 2, 4]")
    + b"""framework = "torch"
device = ["cpu", "gpu"]
gpu_power_watts = ["none", 300]
"""
)
CAPPED = STUDY + b'cpu_power_watts = ["none", 60]\n'
# A search as small as one can be.
TUNED = ("calibrated", {"work": ("0.001", "0.002")})
CLUSTER = b"""poll_seconds = 1.0

[[node_types]]
name = "wide"
scheduler = "slurm"
hosts = ["n1", "n2"]
walltime = "4h"
core_hour = 0.05

[[node_types]]
name = "small"
scheduler = "pbs"
nodes = 2
setup = "true"
"""
CSV = b"""cores,seconds,series,launch
1,10.0,a,1
1,10.1,a,2
2,5.6,a,1
2,5.5,a,2
4,3.2,a,1
4,3.3,a,2
8,2.0,b,1
1,9.0,b,1
4,2.9,b,1
2,4.9,b,1
"""
TIMES = {1: [4.0, 4.1, 4.2, 4.1], 2: [2.2, 2.1, 2.3, 2.2], 4: [1.3, 1.2, 1.3, 1.4]}
HYPERFINE = {
    "results": [
        {
            "command": f"sort -j{n}",
            "mean": 1.0,
            "times": times,
            "exit_codes": [0] * 4,
            "parameters": {"threads": str(n)},
        }
        for n, times in TIMES.items()
    ]
}
PYPERF = {
    "version": "1.0",
    "metadata": {"unit": "second", "loops": 1},
    "benchmarks": [
        {"metadata": {"name": f"sort[threads={n}]"}, "runs": [{"values": [time, time]} for time in times]}
        for n, times in TIMES.items()
    ],
}
GOOGLE_BENCHMARK = {
    "context": {"num_cpus": 4, "library_version": "v1.9.1"},
    "benchmarks": [
        {"name": f"BM/threads:{n}", "run_type": "iteration", "repetition_index": index, "threads": n, "size": n}
        | {"real_time": time, "cpu_time": time, "time_unit": "ms", "iterations": 9}
        for n, times in TIMES.items()
        for index, time in enumerate(times)
    ],
}
TOOL_FILES = [json.dumps(document).encode() for document in (HYPERFINE, PYPERF, GOOGLE_BENCHMARK)]
FORMATS = ("csv", "csv", "parquet", "json", "markdown", "pyperf", "extrap")
FINDING = Finding("Governor", "caution", "powersave", "clocks vary", "choose another governor")


@cache
def sweep_folder() -> Files:
    """A study of four core counts, three launches each."""
    return _folder(STUDY, machines.HOST, machines.machine(8))


@cache
def turns_folder() -> Files:
    """The same with processes that took turns."""
    return _folder(STUDY.replace(b'"apart"', b'"turns"'), machines.HOST, machines.machine(8))


@cache
def capped_folder() -> Files:
    """Energy of runs with and without a cap, and their power over time."""
    return _metered(CAPPED, metered_rows(study_from_toml(CAPPED.decode(), "capped")))


@cache
def gpu_folder() -> Files:
    """Runs on CPUs and on a GPU, whose energy is known."""
    rows = []
    for row in _rows(ON_GPU, machines.HOST, machines.machine(8)):
        seconds = sum(row.outcome.step_seconds)
        energy = MeterEnergy("gpu 0", "gpu", 300.0 * seconds, seconds, len(row.outcome.step_seconds), 310.0, 70.0)
        rows.append(replace(row, energy=(energy,) if row.run.point.device == "gpu" else ()))
    return _metered(ON_GPU, rows)


@cache
def packs_folder() -> Files:
    """Every division of eight cores among replicas."""
    question = packs.pack_study("launches = 3")
    rows = packs.PackedMachine().rows(question)
    return _stored(study_to_toml(question, "packs").encode(), rows, machines.HOST, machines.machine(8))


@cache
def tuned_folder() -> Files:
    """A search that has ended, on this machine."""
    # Only here, as the rest works without the feature.
    from scaling.features.tuning.library import prepare_tuning
    from scaling.features.tuning.report import TUNING, write_search

    workload, parameters = TUNED
    with tempfile.TemporaryDirectory() as name:
        job = prepare_tuning(workload, Path(name), 1, parameters=parameters)
        schedule, rows = job.schedule(), []
        for run in schedule:
            seconds = 0.002 if "0.002" in run.point.workload else 0.001
            noise = 1 + machines.launch_chance(run).gauss(0, 0.01)
            rows.append(replace(machines.row(run, (seconds * noise,) * 5), machine=job.machine))
            schedule.record(launch_of(rows[-1]))
        write_search(Path(name), job.search)
        search = (Path(name) / TUNING).read_bytes()
    return {**_stored(job.toml.encode(), rows, job.machine, job.topology), TUNING: search}


@cache
def resumable_folder() -> Files:
    """A small study that was carried out on this machine."""
    topology = read_topology()
    return _folder(RESUMABLE, read_machine(topology), topology)


@cache
def profile_folder() -> Files:
    """Two networks traced on one thread and on two."""
    toml = 'workloads = ["alexnet", "memnet"]\ncores = [1, 2]\nlaunches = 2\nsize = "small"\nintra = "cores"\ninter = 1'
    runs = traced_plan(study_from_toml(toml, "profile"), machines.machine(2), 6).runs
    lines = "".join(traced_row_to_json(_traced(run)) + "\n" for run in runs)
    return {"traces.jsonl": lines.encode(), "profile.toml": toml.encode()}


@cache
def cluster_folder() -> Files:
    """Two node types, and a job of one of them that has ended."""
    types = {"wide": sweep_folder(), "small": turns_folder()}
    folders = {f"{name}/{path}": text for name, files in types.items() for path, text in files.items()}
    job = {
        "request": b'{"node_type":"wide","shard":{"number":1,"of":2},"study":"","budget":null,"full":false}',
        "submitted": b'{"job":"17","host":"n1"}',
        "started": b'{"node":"n1","job":"17"}',
        "planned": b'{"runs":12,"notes":[]}',
        "ended": b'{"status":"stopped","reason":"it was told to stop"}',
        "closed": b"{}",
    }
    facts = {f"jobs/wide-1/{name}.json": text for name, text in job.items()}
    return {**folders, **facts, "cluster.toml": CLUSTER, "study.toml": STUDY}


@cache
def exported_csv() -> bytes:
    """Rows as `export` writes them, which can be read again."""
    buffer = BytesIO()
    write_export(_rows(STUDY, machines.HOST, machines.machine(8)), "csv", buffer)
    return buffer.getvalue()


@cache
def recorded_machine() -> Files:
    """The `sys/` and `proc/` of two cores with two threads each."""
    cpu, node = "sys/devices/system/cpu", "sys/devices/system/node/node0"
    files = {f"{cpu}/{name}": "0-3\n" for name in ("online", "present", "possible")}
    files |= {f"{node}/cpulist": "0-3\n", "proc/cpuinfo": "model name : Amdahl 470\ncpu MHz : 2000.0\n"}
    files |= {"proc/self/status": "Cpus_allowed_list:\t0-3\n"}
    files |= {"proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"}
    files |= {"proc/stat": "cpu  10 0 10 1000 0 0 0 5 0 0\ncpu0 10 0 10 1000 0 0 0 5 0 0\n", "proc/uptime": "9 9\n"}
    files |= {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/cpuset.cpus.effective": "0-3\n"}
    for number in range(4):
        part, cache_part = f"{cpu}/cpu{number}/topology", f"{cpu}/cpu{number}/cache/index3"
        pair = f"{number - number % 2}-{number - number % 2 + 1}\n"
        files |= {f"{part}/core_cpus_list": pair, f"{part}/package_cpus_list": "0-3\n", f"{part}/die_cpus": "f\n"}
        files |= {f"{cache_part}/level": "3\n", f"{cache_part}/type": "Unified\n", f"{cache_part}/shared_cpu_map": "f"}
        files |= {f"{cpu}/cpu{number}/cpufreq/scaling_governor": "powersave\n"}
        files |= {f"{cpu}/cpu{number}/cpufreq/scaling_max_freq": "2000000\n"}
    return {path: text.encode() for path, text in files.items()}


def _folder(toml: bytes, machine: Machine, topology: Topology) -> Files:
    return _stored(toml, _rows(toml, machine, topology), machine, topology)


def _metered(toml: bytes, rows: list[Row]) -> Files:
    traces = [
        PowerTrace(row.run, row.started_at, (MeterTrace("package 0", "package", (0.1, 0.2), (50.0, 52.0)),))
        for row in rows
    ]
    power = "".join(power_to_json(trace) + "\n" for trace in traces).encode()
    return {**_stored(toml, rows, machines.HOST, machines.machine(8)), "power.jsonl": power}


def _stored(toml: bytes, rows: Iterable[Row], machine: Machine, topology: Topology) -> Files:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = Store(folder)
        for row in rows:
            store.append(row)
        store.write_study(toml.decode())
        store.write_machine(machine, topology)
        store.write_findings([FINDING])
        store.close()
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _rows(toml: bytes, machine: Machine, topology: Topology) -> Iterable[Row]:
    runs = plan(study_from_toml(toml.decode(), "sound"), topology).runs
    for row in machines.AmdahlMachine(noise=0.01).execute(runs):
        turns = tuple(Turn(number, 5, 1, 1.0, 0.9, 0.9, 0.0) for number in range(1, 5)) if row.run.cohort else ()
        yield replace(row, machine=machine, outcome=replace(row.outcome, turns=turns))


def _traced(run: Run) -> TracedRow:
    ops = (OpTime("Conv2D", 0.03 / run.point.cores, 5), OpTime("MatMul", 0.02, 3), OpTime("Tile", 0.001, 1))
    row = machines.row(run, step_seconds=(0.06, 0.06, 0.06), items_per_step=32)
    return TracedRow(row, (TracedStep(sum(op.seconds for op in ops) + 0.002, ops, 0.002),) * 6)
