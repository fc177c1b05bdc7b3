import json
import math
from contextlib import suppress
from dataclasses import make_dataclass, replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared import packs
from benchmarks.shared.machines import first_run, row
from scaling.analysis.device_profile import DeviceProfile, DriverCall
from scaling.analysis.serial_fraction import StatedTruth
from scaling.analysis.turns import EXECUTIONS, Turn
from scaling.analysis.witness import Witness
from scaling.errors import OtherSchemaError, StoreError
from scaling.results.rows import (
    SCHEMA,
    Figure,
    ProgramFile,
    Row,
    Sections,
    launch_of,
    quiet_steps,
    row_from_facts,
    row_from_json,
    row_to_json,
    schema_of,
)
from scaling.study.limits import LEAST_SECONDS, LONGEST_ROW, LONGEST_TEXT, MOST_SECONDS
from scaling.study.planning import Cohort, Point, Run

times = st.floats(LEAST_SECONDS, MOST_SECONDS)


@given(
    steps=st.lists(times, max_size=5).map(tuple),
    reason=st.none() | st.text(),
    status=st.sampled_from(["ok", "failed", "timeout", "interrupted", "shortage"]),
    wall=st.none() | times,
)
def test_a_row_reads_back_as_it_was_written(steps, reason, status, wall):
    one = row(step_seconds=steps, reason=reason, status=status, sections=Sections(wall=wall), stderr_tail=reason)
    line = row_to_json(one)
    assert "\n" not in line
    assert row_from_json(line) == one


def test_a_row_has_the_keys_of_the_contract():
    facts = json.loads(row_to_json(row(first_run('intra = "cores"'))))
    assert facts["schema"] == SCHEMA
    assert set(facts) == {
        *(
            "schema",
            "run",
            "outcome",
            "witness",
            "machine",
            "versions",
            "started_at",
            "environment",
            "left_out",
            "energy",
            "program_files",
        ),
    }
    assert {"workload", "mode", "size", "items", "framework", "device", "jit", "cores", "smt", "placement"} <= set(
        facts["run"]
    )
    assert {"cpus", "intra", "inter", "launch", "seed"} <= set(facts["run"])
    assert facts["run"]["inter"] == 0
    assert facts["run"]["asked"]["intra"] == "cores"
    assert set(facts["outcome"]["sections"]) == {
        "spawn",
        "import",
        "init",
        "setup",
        "first_step",
        "run",
        "main",
        "wall",
    }
    assert set(facts["machine"]) == {"host", "cpu_model", "arch", "kernel", "fingerprint"}


def test_what_is_not_known_is_null():
    facts = json.loads(row_to_json(row()))
    assert facts["witness"]["mhz"] is None
    assert facts["witness"]["energy_joules"] is None


def test_a_row_keeps_what_its_workload_states_of_itself():
    stated = row(truth=StatedTruth(0.1, 2e-6))
    assert json.loads(row_to_json(stated))["outcome"]["truth"] == {"serial_fraction": 0.1, "overhead_seconds": 2e-6}
    assert row_from_json(row_to_json(stated)) == stated
    assert launch_of(stated).truth == stated.outcome.truth


def test_a_row_keeps_the_files_that_were_measured_and_one_from_before_has_none():
    measured = replace(row(), program_files=(ProgramFile("prog.py", 12, 1.5, "0123456789abcdef"),))
    facts = json.loads(row_to_json(measured))
    assert facts["program_files"] == [{"name": "prog.py", "size": 12, "mtime": 1.5, "digest": "0123456789abcdef"}]
    assert row_from_json(json.dumps(facts)) == measured
    del facts["program_files"]
    assert row_from_json(json.dumps(facts)) == row()


TOO_MUCH = [math.nan, math.inf, -math.inf, "nan", "Infinity", 10**400]


@pytest.mark.parametrize("value", TOO_MUCH)
@pytest.mark.parametrize(
    "path",
    [
        "witness.cpu_seconds",
        "witness.throttled_periods",
        "outcome.turns.0.seconds",
        "outcome.turns.0.steps",
        "run.seed",
    ],
)
def test_what_cannot_be_written_again_is_refused_when_it_is_read(path, value):
    line = json.loads(row_to_json(row(turns=(Turn(1, 3, 0, 0.3),))))
    *outer, name = (int(key) if key.isdecimal() else key for key in path.split("."))
    part = line
    for key in outer:
        part = part[key]
    part[name] = value
    with pytest.raises(StoreError, match=f"{outer[0]}|malformed"):
        row_from_json(json.dumps(line))
    if isinstance(value, str):
        with pytest.raises(StoreError):
            row_from_facts(line)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("outcome.step_seconds.0", 1e-13),
        ("outcome.step_seconds.0", 1e10),
        ("outcome.turns.0.seconds", 1e-300),
        ("outcome.turns.0.seconds", 1e300),
        ("outcome.turns.0.steal_seconds", 1e300),
        ("outcome.sections.run", 1e300),
        ("witness.cpu_seconds", -1e300),
        ("run.quota", 1e-300),
        ("run.rate", 1e300),
        ("run.workload", "x" * (LONGEST_TEXT + 1)),
    ],
)
def test_a_number_or_name_beyond_its_limits_is_refused_by_its_key(path, value):
    line = json.loads(row_to_json(row(step_seconds=(0.1,) * 3, turns=(Turn(1, 3, 0, 0.3),))))
    *outer, name = (int(key) if key.isdecimal() else key for key in path.split("."))
    reduce(lambda part, key: part[key], outer, line)[name] = value
    where = path.replace(".0", "").rpartition(".")[0] if "turns" in path else path.replace(".0", r"\[0\]")
    with pytest.raises(StoreError, match=rf"^({where}|workload|quota|rate)"):
        row_from_json(json.dumps(line))


def test_a_line_that_no_reader_takes_is_not_written(monkeypatch):
    monkeypatch.setattr("scaling.results.rows.LONGEST_ROW", 2**20)
    assert LONGEST_ROW > 2**20
    with pytest.raises(ValueError, match="the line has 1 MiB, more than the 1 MiB that are read"):
        row_to_json(row(step_seconds=(0.123456789,) * 150_000))


def test_replicas_of_a_pack_with_rates_of_unequal_length_are_refused():
    rows = packs.PackedMachine().rows(packs.pack_study("launches = 1"))
    line = json.loads(row_to_json(next(one for one in rows if one.run.point.replicas > 1)))
    line["outcome"]["pack"]["replicas"][1]["rates"].pop()
    with pytest.raises(StoreError, match=r"outcome.pack: the rates"):
        row_from_json(json.dumps(line))


def test_no_row_can_hold_a_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        row_to_json(row(step_seconds=(math.nan,)))


def test_a_row_says_how_its_process_was_started():
    forked = row(first_run('start = "fork"'))
    assert json.loads(row_to_json(forked))["run"]["start"] == "fork"
    assert row_from_json(row_to_json(forked)) == forked


def test_a_row_from_before_there_was_a_choice_was_spawned():
    facts = json.loads(row_to_json(row()))
    del facts["run"]["start"]
    assert row_from_json(json.dumps(facts)).run.start == "spawn"


def test_a_row_says_what_its_steps_were_fed_with_and_which_share_of_its_cpu_time_a_pipeline_took():
    run = first_run('workloads = "autoenc"\ndata = "pipeline"\npipeline_threads = "cores"')
    fed = row(run)
    fed = replace(fed, witness=replace(fed.witness, cpu_seconds=2.0, pipeline_cpu_seconds=0.5, pipeline_pool=1))
    facts = json.loads(row_to_json(fed))
    assert (facts["run"]["data"], facts["run"]["pipeline_threads"]) == ("pipeline", run.point.cores)
    assert facts["run"]["asked"]["pipeline_threads"] == "cores"
    assert row_from_json(row_to_json(fed)) == fed
    assert launch_of(fed).pipeline_share == 0.25


def test_a_row_from_before_there_was_a_choice_had_one_batch():
    facts = json.loads(row_to_json(row()))
    assert (facts["run"]["data"], facts["run"]["pipeline_threads"]) == ("fixed", None)
    assert "pipeline_threads" not in facts["run"]["asked"]
    for key in ("data", "pipeline_threads"):
        del facts["run"][key]
    for key in ("pipeline_pool", "pipeline_cpu_seconds"):
        del facts["witness"][key]
    assert row_from_json(json.dumps(facts)) == row()
    assert launch_of(row()).pipeline_share is None


def test_a_row_keeps_what_a_step_had_its_gpu_do():
    call = DriverCall("cudaGraphLaunch", 1.0, 2e-5)
    profile = DeviceProfile(5, 8e-3, 7e-3, 1e-4, 8e-3, 7e-3, 300.0, 2.0, (call,))
    profiled = replace(row(), outcome=replace(row().outcome, device_profile=profile))
    assert row_from_json(row_to_json(profiled)) == profiled
    facts = json.loads(row_to_json(row()))
    del facts["outcome"]["device_profile"]
    assert row_from_json(json.dumps(facts)) == row()


def test_a_key_from_a_later_version_is_left_alone_beside_the_run():
    facts = json.loads(row_to_json(row()))
    facts["weather"] = facts["witness"]["weather"] = "blue"
    assert row_from_json(json.dumps(facts)) == row()


@pytest.mark.parametrize("part", [("run",), ("run", "asked")])
def test_an_axis_that_this_version_does_not_know_is_refused_by_name(part):
    facts = json.loads(row_to_json(row()))
    reduce(dict.__getitem__, part, facts)["huge_pages"] = True
    refusal = r"has the axis 'huge_pages', which this version does not know; install the version .* that wrote it"
    with pytest.raises(OtherSchemaError, match=refusal):
        row_from_json(json.dumps(facts))
    with pytest.raises(OtherSchemaError, match=refusal):
        row_from_facts(facts)


def test_a_further_axis_makes_another_schema_and_older_versions_refuse_it():
    point = make_dataclass("LaterPoint", [("huge_pages", bool, False)], bases=(Point,), kw_only=True, frozen=True)
    assert schema_of(Point, Run) == SCHEMA
    later = schema_of(point, Run)
    facts = {**json.loads(row_to_json(row())), "schema": later}
    with pytest.raises(OtherSchemaError, match=rf"schema {later}, and this version reads {SCHEMA}; install a later"):
        row_from_json(json.dumps(facts))


def test_a_row_from_before_an_axis_has_its_default():
    facts = {**json.loads(row_to_json(row())), "schema": 1}
    del facts["run"]["onednn"]
    assert row_from_json(json.dumps(facts)) == row()


@pytest.mark.parametrize("key", ["first_loss", "last_loss", "cautions", "truth"])
def test_an_outcome_may_lack_what_earlier_versions_did_not_write(key):
    facts = json.loads(row_to_json(row()))
    del facts["outcome"][key]
    assert row_from_json(json.dumps(facts)) == row()


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '{"schema": 1}', b"\x00\x00"])
def test_a_line_that_is_no_row_is_refused_in_one_sentence(line):
    with pytest.raises(StoreError) as refused:
        row_from_json(line)
    assert "\n" not in str(refused.value)


ODD = (None, True, 0, -1, 1, 1.0, 2.5, -0.0, 2**64, 10**400, "", "1", "ok", [], [1], [[0]], [0.5, "x"], {}, {"a": 1})
RUN_KEYS = ("workload", "items", "jit", "cores", "quota", "cpus", "launch", "seed", "start", "cohort", "asked", "new")
OUTCOME_KEYS = ("status", "step_seconds", "turns", "warmup_steps", "items_per_step", "sections", "truth", "cautions")
KEYS = [
    *((part,) for part in ("schema", "run", "outcome", "witness", "machine", "versions", "started_at", "environment")),
    *(("run", key) for key in RUN_KEYS),
    *(("run", "asked", key) for key in ("items", "steps", "traced", "new")),
    *(("outcome", key) for key in (*OUTCOME_KEYS, "new")),
    *(("outcome", "sections", key) for key in ("import", "wall", "new")),
    *(("witness", key) for key in ("cpus_at_start", "threads", "cpu_seconds")),
    *(("machine", key) for key in ("host", "cpu_model", "new")),
]


@pytest.mark.parametrize("keys", KEYS, ids=".".join)
def test_a_line_with_an_odd_value_is_refused_or_reads_back_as_it_is_written(keys):
    for value in (*ODD, ...):
        facts = json.loads(row_to_json(row()))
        *parts, key = keys
        part = facts
        for name in parts:
            part = part[name]
        part[key] = value
        if value is ...:
            del part[key]
        _check_line(json.dumps(facts).encode())


def _check_line(line):
    with suppress(StoreError):
        read = row_from_json(line)
        assert row_from_json(row_to_json(read)) == read


@pytest.mark.parametrize(
    "edit",
    [
        lambda line: line.replace(b'"seed"', b'"seed":1,"seed"'),
        lambda line: line.replace(b'"host":"', b'"host":"\xff'),
        lambda line: line.replace(b'"host":"', rb'"host":"\ud800'),
        lambda line: line.replace(b'"host":"', rb'"host":"\u00e9\ud83d\ude00'),
        lambda line: line.replace(b'"cpu_seconds":0.3', b'"cpu_seconds":NaN'),
        lambda line: line.replace(b'"cpu_seconds":0.3', b'"cpu_seconds":1e999'),
        lambda line: line.replace(b":", b" :\t"),
        lambda line: line + b" \n",
        lambda line: line + b"\x00",
        lambda line: line[:-1],
        lambda line: line[:-1] + b",}",
        lambda line: line[:-1] + b',"deep":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    ],
)
def test_unusual_and_broken_json_is_refused_or_reads_back_as_it_is_written(edit):
    _check_line(edit(row_to_json(row()).encode()))


def test_what_was_asked_for_is_an_object_or_refused():
    facts = json.loads(row_to_json(row()))
    facts["run"]["asked"] = "☃"
    with pytest.raises(StoreError, match=r"^run.asked: expected `object \| null`, got `str`$"):
        row_from_json(json.dumps(facts))


def test_a_launch_stands_for_the_mean_of_its_steady_steps():
    assert launch_of(row(step_seconds=(9.0, 1.0, 1.02, 1.04, 1.4, 1.5), warmup_steps=1)).seconds == pytest.approx(1.192)


def test_a_run_that_ran_apart_is_one_turn_as_disturbed_as_its_witness_says():
    made = row(step_seconds=(9.0, 0.5, 0.5), warmup_steps=1)
    (turn,) = launch_of(replace(made, witness=Witness(steal_seconds=0.5))).turns
    assert (turn.round, turn.quiet) == (1, False)
    assert turn.disturbance == pytest.approx(0.5 - 0.01 * len(made.run.flat_cpus) ** 0.5)
    by_parent = Witness(cpu_seconds=0.3, parent_cpu_seconds=0.5, busy_seconds=0.8)
    (turn,) = launch_of(replace(made, witness=by_parent)).turns
    assert (turn.foreign, turn.quiet) == (pytest.approx(0.0), True)


def test_a_run_that_took_turns_counts_its_quiet_ones_and_is_judged_by_them():
    turns = (Turn(0, 1, 0, 9.0), Turn(1, 2, 1, 1.0, steal_seconds=0.9), Turn(2, 2, 1, 1.1, steal_seconds=0.0))
    made = row(step_seconds=(9.0, 8.0, 0.9, 8.0, 1.1), turns=turns, sections=Sections(run=2.1))
    cohort, loud = Cohort("together", 2), Witness(cpu_seconds=0.1, busy_seconds=2.0, steal_seconds=0.9)
    launch = launch_of(replace(made, run=replace(made.run, cohort=cohort), witness=loud))
    assert (launch.seconds, launch.steps, launch.cohort) == (1.1, 2, "together")
    assert quiet_steps(made) == [1.1]
    assert [turn.quiet for turn in launch.turns] == [False, True]
    assert [doubt.rule.code for doubt in launch.doubts] == ["few-steps"]


def codes(made: Row) -> list[str]:
    return [doubt.rule.code for doubt in launch_of(made).doubts]


@pytest.mark.parametrize(("quota", "share"), [(None, None), (0.5, 0.25)])
def test_a_point_with_a_quota_is_throttled_as_requested(quota, share):
    made = row(replace(first_run(), point=replace(first_run().point, quota=quota)), sections=Sections(run=0.3))
    made = replace(made, witness=Witness(throttled_periods=1, quota_periods=4))
    assert launch_of(made).throttled_share == share
    assert ("throttled" in codes(made)) is (quota is None)


def test_every_replica_of_a_pack_has_the_threads_of_its_setting():
    pack = replace(first_run().point, replicas=2, cores=2, intra=2, inter=1)
    made = row(replace(first_run(), point=pack, cpus=((0,), (1,), (2,), (3,))), sections=Sections(run=1.0))
    assert "threads-exceeded" not in codes(replace(made, witness=Witness(cpu_seconds=3.9)))
    assert "threads-exceeded" in codes(replace(made, witness=Witness(cpu_seconds=4.9)))


def test_two_speeds_are_a_doubt_about_a_run_that_took_no_turns():
    steps = (1.0,) * 10 + (2.0,) * 10
    assert "no-steady-state" in codes(row(step_seconds=steps))
    turns = (Turn(1, 10, 0, 10.0), Turn(2, 10, 0, 20.0))
    assert "no-steady-state" not in codes(row(step_seconds=steps, turns=turns))


def test_a_figure_that_a_workload_reports_is_that_of_its_median_step():
    assert launch_of(row(figures=(Figure("p99", (1.0, 2.0, 9.0)),))).figures == {"p99": 2.0}


@pytest.mark.parametrize(("process_seconds", "whole", "busy"), [(0.1, True, 3.0), (1.0, False, None)])
def test_the_cpu_time_of_a_program_that_reports_its_own_time_is_not_known(process_seconds, whole, busy):
    made = row(step_seconds=(0.1,), ended_by=EXECUTIONS)
    launch = launch_of(replace(made, witness=Witness(cpu_seconds=0.3, process_seconds=process_seconds)))
    assert (launch.whole_process, launch.cpus_busy) == (whole, busy and pytest.approx(busy))


def test_the_rate_of_a_round_is_that_of_its_settled_steps():
    turns = (Turn(0, 3, 0, 1.5), Turn(1, 5, 2, 1.5), Turn(2, 4, 0, 1.0))
    launch = launch_of(row(step_seconds=(0.5,) * 8 + (0.25,) * 4, turns=turns, items_per_step=32))
    assert launch.rates == ((1, 64.0), (2, 128.0))


def test_short_turns_are_a_doubt_however_long_the_run():
    turns = tuple(Turn(number, 5, 0, 0.05, steal_seconds=0.0) for number in range(20))
    made = row(step_seconds=(0.01,) * 100, turns=turns, sections=Sections(run=1.0))
    launch = launch_of(replace(made, witness=Witness(steal_seconds=0.0)))
    assert [doubt.rule.code for doubt in launch.doubts] == ["too-short-to-see"]


def test_turns_are_too_short_whatever_the_length_of_the_warm_up():
    turns = (Turn(0, 5, 0, 10.0, steal_seconds=0.0), Turn(1, 5, 0, 0.05, steal_seconds=0.0))
    made = row(step_seconds=(0.01,) * 10, turns=turns, sections=Sections(run=0.05))
    launch = launch_of(replace(made, witness=Witness(steal_seconds=0.0)))
    assert "too-short-to-see" in [doubt.rule.code for doubt in launch.doubts]


def test_load_elsewhere_is_a_doubt_only_where_no_turn_was_without_it():
    def launch(*elsewhere: float) -> list[str]:
        turns = tuple(Turn(index, 5, 0, 1.0, elsewhere_seconds=seconds) for index, seconds in enumerate(elsewhere, 1))
        made = row(step_seconds=(0.2,) * 5 * len(turns), turns=turns, sections=Sections(run=float(len(turns))))
        seen = launch_of(replace(made, witness=Witness(elsewhere_busy_seconds=sum(elsewhere))))
        return [doubt.rule.code for doubt in seen.doubts]

    assert launch(0.9, 0.9) == ["load-elsewhere"]
    assert launch(0.9, 0.0) == []


def test_a_launch_has_its_clock_and_instructions_per_cycle_where_they_were_counted():
    counted = Witness(cpu_seconds=0.5, instructions=3_000_000_000, cycles=1_500_000_000, max_rss_bytes=7)
    launch = launch_of(replace(row(), witness=counted))
    assert (launch.ipc, launch.clock_hz, launch.peak_memory_bytes) == (2.0, 3e9, 7)
    assert launch.cpus_busy == pytest.approx(0.5 / 0.3)


@pytest.mark.parametrize("count", [None, 0, -1, 10**400])
def test_a_count_that_is_none_gives_no_rate(count):
    launch = launch_of(replace(row(), witness=Witness(cpu_seconds=0.5, instructions=count, cycles=count)))
    assert (launch.ipc, launch.clock_hz) == (None, None)


def test_rows_of_before_there_were_counters_are_read():
    facts = json.loads(row_to_json(row()))
    del facts["witness"]["instructions"], facts["witness"]["cycles"]
    assert row_from_json(json.dumps(facts)) == row()


def test_a_failed_run_has_no_seconds_but_a_reason():
    launch = launch_of(row(status="failed", reason="exited with status 3"))
    assert (launch.seconds, launch.reason) == (None, "exited with status 3")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"cores": 0}, "cores: expected `int` >= 1"),
        ({"workload": ["a"]}, "workload: expected `str`, got `array`"),
        ({"cores": None}, "cores: expected `int`, got `null`"),
    ],
)
def test_a_wrong_setting_of_a_point_is_refused_by_its_name_whatever_was_read_before(wrong, reason):
    facts = json.loads(row_to_json(row()))
    row_from_json(json.dumps(facts))
    facts["run"] |= wrong
    for _ in range(2):
        with pytest.raises(StoreError, match=rf"^run.{reason}$"):
            row_from_json(json.dumps(facts))


def test_rows_of_one_folder_share_what_they_have_in_common():
    one, other = (row_from_json(row_to_json(row())) for _ in range(2))
    assert one == other
    for part in ("machine", "versions", "environment"):
        assert getattr(one, part) is getattr(other, part)
    assert one.run.point is other.run.point
    assert one.run.cpus is other.run.cpus
