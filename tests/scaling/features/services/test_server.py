"""A tiny server under a tiny load, and what becomes of the faults of either."""

import os
import re
import socket
import sys
import time
from pathlib import Path

import psutil
import pytest

from scaling.analysis.turns import WARMUP_ROUND
from scaling.features.services import server
from scaling.features.services.service import Service
from scaling.machine.sysfs import read_topology
from scaling.machine.topology import parse_list
from scaling.results.rows import row_from_json, row_to_json
from scaling.workloads.command import ProgramError
from tests.scaling.features.services.measured import figures_of, row_of, rows_of
from tests.scaling.running.fake_system import ROUNDING, FakeSystem, Machine, Process

TINY = str(Path(__file__).with_name("tiny.py"))
ALL = len(read_topology().cores)


def service(**keys: object) -> Service:
    usual = {
        "name": "tiny",
        "serve": [sys.executable, TINY, "serve", "{port}"],
        "load": [sys.executable, TINY, "load", "{port}", "{clients}"],
        "throughput": r"rate: ([\d.]+)",
        "latency": {"p99": r"p99: (\S+)"},
    }
    return Service(**{**usual, **keys})


def with_fault(fault: str, where: str = "serve", **keys: object) -> Service:
    line = [sys.executable, TINY, where, "{port}", *(["{clients}"] if where == "load" else []), fault]
    return service(**{where: line, **keys})


def left_over() -> list[str]:
    """The processes of these tests that are still there."""
    time.sleep(0.1)
    lines = (" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))
    return [line for line in lines if TINY in line or line == "sleep 60.0625"]


def test_one_server_serves_all_turns_of_its_launch_and_the_load_is_in_the_row(tmp_path):
    count = ["sh", "-c", f'echo started >> {tmp_path / "log"}; exec "$@"', "sh"]
    row = row_of(service(serve=[*count, sys.executable, TINY, "serve", "{port}"]), clients=3, rounds=2)
    assert row.outcome.status == "ok", row.outcome.reason
    assert (tmp_path / "log").read_text().split() == ["started"]
    assert row.run.point.clients == 3
    assert len(row.outcome.step_seconds) >= 2
    figures = figures_of(row)
    assert {len(values) for values in figures.values()} == {len(row.outcome.step_seconds)}
    assert 0 < figures["p99"][0] < 1
    assert figures["generator_cpus"][0] > 0
    assert row_from_json(row_to_json(row)).outcome.figures == row.outcome.figures
    assert not left_over()


def test_the_generator_has_the_cores_that_the_server_leaves(tmp_path):
    log = tmp_path / "log"
    line = ["sh", "-c", f'grep Cpus_allowed_list /proc/self/status >> {log}; exec "$@"', "sh"]
    rows = rows_of(service(load=[*line, sys.executable, TINY, "load", "{port}", "{clients}"]), [1], cores=ALL)
    shared = {row.run.point.cores: figures_of(row)["shared_cpus"][0] for row in rows}
    assert shared[ALL] == len(rows[-1].run.flat_cpus)
    if ALL > 1:
        assert shared[1] == 0
        masks = [parse_list(line.split()[1]) for line in log.read_text().splitlines()]
        assert not min(masks, key=len) & set(rows[0].run.flat_cpus)


def test_a_file_a_variable_and_a_folder_are_filled_in(tmp_path):
    template = tmp_path / "conf"
    template.write_text("listen {port} with {threads} threads { block } {other}")
    literal = 'test "{{port}} {{threads}} {{other}}" = "$(printf "%sport} %sthreads} %sother}" "{" "{" "{")"'
    check = f'{literal} && test "$WORKERS" = 1 && grep -q "with 1 threads {{ block }} {{{{other}}}}" $0 && test -d "$1"'
    serve = [
        "sh",
        "-c",
        f'{check} && exec "$2" "$3" serve $4',
        "{conf}",
        "{folder}",
        sys.executable,
        TINY,
        "{port}",
    ]
    made = service(serve=serve, files={"conf": str(template)}, env={"WORKERS": "{threads}"}, ready="with 1 workers")
    row = row_of(made)
    assert row.outcome.status == "ok", row.outcome.stderr_tail


def test_bytes_of_a_file_that_are_not_utf_8_are_kept(tmp_path):
    (path := tmp_path / "latin").write_bytes(b"caf\xe9 {threads}")
    check = 'test "$(od -An -tx1 $0)" = " 63 61 66 e9 20 31" && exec "$1" "$2" serve $3'
    row = row_of(
        service(serve=["sh", "-c", check, "{conf}", sys.executable, TINY, "{port}"], files={"conf": str(path)})
    )
    assert row.outcome.status == "ok", row.outcome.stderr_tail


def test_files_of_one_name_are_two_files_and_one_may_name_the_other(tmp_path):
    paths = {name: tmp_path / name / "server.log" for name in ("one", "two")}
    for path, text in zip(paths.values(), ("see {two}", "two"), strict=True):
        path.parent.mkdir()
        path.write_text(text)
    check = 'test "$(cat $0)" = "see $1" && test "$(cat $1)" = two && test -z "$(ls -A $2)" && exec "$3" "$4" serve $5'
    serve = ["sh", "-c", check, "{one}", "{two}", "{folder}", sys.executable, TINY, "{port}"]
    row = row_of(service(serve=serve, files={name: str(path) for name, path in paths.items()}))
    assert row.outcome.status == "ok", row.outcome.stderr_tail


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (with_fault("refuses"), "status 1 before"),
        (with_fault("sleeps", ready_seconds=0.3), "does not answer"),
        (with_fault("", ready="never", ready_seconds=0.3), "'never' is not in"),
        (with_fault("dies"), "status 3 under"),
        (with_fault("leaks"), "(sleep) behind"),
        (with_fault("keeps-port"), "behind"),
        (with_fault("silent", "load"), "the output does not match"),
        (service(latency={"p99": "(rate)"}), "not a time such as 1.2ms"),
    ],
    ids=["refuses", "sleeps", "not ready", "dies", "leaks", "keeps port", "silent", "no time"],
)
def test_a_fault_is_a_failed_row_with_a_reason_and_leaves_nothing(made, reason):
    row = row_of(made)
    assert row.outcome.status == "failed"
    assert reason in (row.outcome.reason or "")
    assert not left_over()


@pytest.mark.parametrize(("text", "seconds"), [("1.5ms", 0.0015), ("1,500us", 0.0015), ("2 s", 2.0), ("3", 0.003)])
def test_a_latency_has_a_unit_or_is_in_milliseconds(text, seconds):
    assert server._seconds(text.encode()) == pytest.approx(seconds)


def test_a_latency_with_a_decimal_comma_is_refused():
    with pytest.raises(ProgramError, match="'1,5' in its output has a comma that does not separate thousands"):
        server._seconds(b"1,5ms")


def test_after_a_fault_the_next_point_runs():
    fails = '[ "$1" = 1 ] && exit 7; exec "$2" "$3" load $4 $1'
    made = service(load=["sh", "-c", fails, "sh", "{clients}", sys.executable, TINY, "{port}"])
    rows = rows_of(made, [1, 2])
    assert {row.run.point.clients: row.outcome.status for row in rows} == {1: "failed", 2: "ok"}


def test_a_server_that_hears_no_signal_is_ended_by_force():
    row = row_of(with_fault("deaf", stop_seconds=0.2))
    assert row.outcome.status == "ok", row.outcome.reason
    assert not left_over()


def test_sizes_take_turns_on_a_fixed_port_one_server_after_another():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    rows = rows_of(service(port=port), [1], rounds=2, cores=ALL)
    assert [row.outcome.reason for row in rows] == [None] * len(rows)
    rounds = [turn.round for row in rows for turn in row.outcome.turns if turn.round != WARMUP_ROUND]
    assert len(rounds) == len(set(rounds)) >= 2 * len(rows)


def test_a_port_that_answers_before_its_server_is_somebody_elses():
    with socket.create_server(("127.0.0.1", 0)) as other:
        row = row_of(service(port=other.getsockname()[1]))
    assert "is already in use" in row.outcome.reason or ""


def test_the_output_of_a_server_takes_no_disk(tmp_path):
    flood = "head -c 50000000 /dev/zero | tr '\\0' x; exec \"$@\""
    use = f'du -sk "$TMPDIR" >> {tmp_path / "log"}; exec "$@"'
    row = row_of(
        service(
            serve=["sh", "-c", flood, "sh", sys.executable, TINY, "serve", "{port}"],
            load=["sh", "-c", use, "sh", sys.executable, TINY, "load", "{port}", "{clients}"],
            ready="xready on",
        )
    )
    assert row.outcome.status == "ok", row.outcome.reason
    assert max(int(line.split()[0]) for line in (tmp_path / "log").read_text().splitlines()) < 2000


def test_the_end_of_what_a_server_printed_is_shown_when_it_ends():
    row = row_of(service(serve=["sh", "-c", "yes | head -c 3000000; echo the end; exit 3"]))
    assert "status 3 before" in row.outcome.reason
    assert row.outcome.stderr_tail.endswith("y\nthe end\n")


@pytest.mark.parametrize(
    ("pattern", "pieces", "is_ready"),
    [
        ("rea+dy$", [b"re", b"ad", b"y"], True),
        ("^y", [b"x", b"y" * 10], False),
        ("^y", [b"x" * server.LONGEST_MATCH, b"y" * server.LONGEST_MATCH, b"y"], False),
        (f"ab.{{{server.LONGEST_MATCH - 10}}}c", [b"b" * 9 + b"a", b"b" * server.LONGEST_MATCH, b"c"], False),
        ("a(?s:.*)c", [b"x" * server.LONGEST_MATCH, b"a", b"b" * 1000, b"c"], True),
    ],
)
def test_a_pattern_is_searched_across_pieces_of_the_output(pattern, pieces, is_ready):
    output = server._Output(re.compile(pattern.encode()), frozenset(os.sched_getaffinity(0)))
    for piece in pieces:
        os.write(output.sink, piece)
        output.tail()
    assert output.is_ready is is_ready
    for fd in (output.source, output.sink):
        os.close(fd)


# From here on, the server and its load are processes of a virtual machine.
def family(machine: Machine) -> tuple[FakeSystem, Process, Process, Process]:
    """A machine as the process of a run sees it, and below that its server, a worker of the server, and a generator."""
    run = machine.parent
    serves = machine.add(run.number, [0, 1], threads=2, name="server")
    works = machine.add(serves.number, [2], name="worker")
    loads = machine.add(run.number, [3], name="load")
    return FakeSystem(machine, run), serves, works, loads


def test_the_busiest_thread_of_the_server_and_of_the_generator_are_known_apart():
    with Machine(6) as machine:
        system, serves, works, loads = family(machine)
        machine.load(0, 0.0, 5.0, serves)
        machine.load(2, 1.0, 5.0, works)
        machine.load(3, 2.5, 5.0, loads)
        machine.load(4, 0.0, 5.0, machine.parent)
        busiest = server.Busiest({"server": serves.number, "generator": system.process_id()}, serves.number, system)
        busiest.look()
        assert busiest.shares() == {"server": 0.0, "generator": 0.0}
        system.sleep(0.125)
        busiest.look()
        assert busiest.shares() == {"server": 0.0, "generator": 0.0}  # a share of so short a time is none
        system.sleep(4.875)
        busiest.look()
    assert busiest.shares() == {"server": pytest.approx(1.0), "generator": pytest.approx(0.5)}


def test_the_cpu_time_of_a_server_is_that_of_its_processes_and_of_those_that_it_waited_for():
    with Machine(6) as machine:
        system, serves, works, loads = family(machine)
        machine.load(0, 0.0, 1.0, serves)
        machine.load(2, 0.0, 2.0, works)
        machine.load(3, 0.0, 3.0, loads)
        system.sleep(4.0)
        assert server.tree_seconds(serves.number, system) == 3.0
        machine.end(works)
        assert server.tree_seconds(serves.number, system) == 3.0
        machine.end(serves)
        assert server.tree_seconds(serves.number, system) == 0.0


def test_a_process_that_has_ended_has_no_start_and_another_of_its_number_has_another():
    with Machine(6) as machine:
        system, serves, works, loads = family(machine)
        assert server.start_time(serves.number, system) != server.start_time(loads.number, system)
        assert server.process_name(works.number, system) == "worker"
        machine.end(works)
        assert (server.start_time(works.number, system), server.process_name(works.number, system)) == (None, "gone")


@pytest.mark.parametrize(("until", "value", "waited"), [(0.0, False, 0.0), (1.0, False, 1.0), (9.0, True, 2.0)])
def test_what_is_left_is_waited_for_until_it_is_gone_or_two_seconds_have_passed(until, value, waited):
    with Machine(1) as machine:
        system = FakeSystem(machine, machine.parent)
        last = server.wait_while(lambda: machine.now < machine.beginning + until - ROUNDING, system)
        assert (last, machine.now - machine.beginning) == (value, pytest.approx(waited, abs=0.03))


def test_a_process_whose_name_is_cut_within_a_character_has_times(cut_name):
    assert server.start_time(os.getpid())
    assert server.process_name(os.getpid()) == "abcdefghijklmn\N{REPLACEMENT CHARACTER}"
