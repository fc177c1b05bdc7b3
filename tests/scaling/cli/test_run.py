import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from scaling.errors import to_install
from scaling.machine.sysfs import read_topology
from scaling.results.rows import row_to_json
from scaling.results.store import read_rows
from tests.mentions import mentions
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import BARE, SCALING, complaint

MOST = len(read_topology().cores)
EXAMPLE = Path(__file__).parents[3] / "docs/examples/turns-sixteen"
FEW = ["--no-report", "--launches", "3"]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def test_a_program_is_measured_as_it_is_typed_and_the_answer_is_a_sentence(folder, tmp_path):
    log = tmp_path / "log"
    done = scaling("run", *FEW, "-o", folder, "--", "sh", "-c", f"echo {{threads}} {{cpus}} >> {log}")
    assert done.returncode == ("no answer yet" in done.stdout)  # a program of a millisecond may have none
    rows = list(read_rows(folder))
    assert {row.outcome.status for row in rows} == {"ok"}
    assert len(log.read_text().splitlines()) == len(rows)
    assert done.stdout.startswith(("give sh ", "no answer yet for sh: ", "sh was measured on "))
    again = scaling("sweep", folder / "study.toml", "--dry-run")
    assert again.returncode == 0, again.stderr


def test_several_programs_are_told_apart_by_their_names(folder):
    done = scaling(
        "run", *FEW, "--cores", "1", "-n", "one", "-o", folder, "--", "true", "++", "-n", "two", "--", "true"
    )
    assert done.returncode == 0, done.stderr
    assert {row.run.point.workload for row in read_rows(folder)} == {"one", "two"}


def test_a_program_that_always_fails_is_started_once_per_core_count_and_heard(folder):
    code = "import sys; sys.exit('no such planet')"
    done = scaling("run", *FEW, "-n", "failing", "-o", folder, "--", sys.executable, "-c", code)
    assert done.returncode == 1
    counts = [row.run.point.cores for row in read_rows(folder)]
    assert sorted(counts) == sorted(set(counts))
    assert "failing failed on every" in done.stderr
    assert "failing said: no such" in done.stderr


def test_what_a_program_gets_of_the_shell_is_said(folder):
    shell = {"env": {**BARE, "PLANET": "mars", "SCALING_LOCK": os.environ["SCALING_LOCK"]}}
    check = ["sh", "-c", 'test "$PLANET" = mars']
    told = scaling("run", "-v", *FEW, "--cores", "1", "-o", folder, "--", *check, **shell)
    assert "PLANET" in told.stderr.split("not passed to programs:")[1].splitlines()[0]
    assert told.returncode == 1
    kept = scaling(
        "run", *FEW, "--cores", "1", "--env", "PLANET", "-o", folder.with_name("kept"), "--", *check, **shell
    )
    assert kept.returncode == 0, kept.stderr


def contents(folder):
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_the_value_of_a_variable_of_the_shell_is_kept_nowhere_and_the_same_is_needed_to_go_on(folder, monkeypatch):
    monkeypatch.setenv("PLANET", "secret-mars")
    # The parent of the program is the process of its run.
    check = ["sh", "-c", 'test "${{PLANET}}" && ! grep "$PLANET" /proc/$PPID/cmdline']
    command = ["run", *FEW, "--cores", "1", "--full", "--env", "PLANET", "-n", "planet", "-o", folder, "--", *check]
    done = scaling(*command)
    assert done.returncode == 0, done.stderr
    assert b'env = { "PLANET" = { digest = "' in contents(folder)
    assert b"secret-mars" not in contents(folder)
    assert {row.left_out for row in read_rows(folder)} == {("PLANET",)}
    assert "all 3 runs" in scaling(*command).stderr
    monkeypatch.setenv("PLANET", "venus")
    assert "program 'planet' was defined differently" in scaling(*command).stderr
    assert "PLANET has a different value" in complaint(scaling("sweep", folder / "study.toml", "-o", folder))


def test_another_user_reads_none_of_the_values(folder, tmp_path, second_user, monkeypatch):
    monkeypatch.setenv("PLANET", "secret-mars")
    ready, go = tmp_path / "ready", tmp_path / "go"
    for fifo in (ready, go):
        os.mkfifo(fifo)
    tmp_path.chmod(0o755)
    program = ["sh", "-c", f"echo > {ready}; read x < {go}"]
    options = ["--cores", "1", "--launches", "1", "--no-report", "-o", folder]
    command = [SCALING, "run", *options, "--env", "PLANET", "--env", "MOON=secret-phobos", "--", *program]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sweep:
        try:
            ready.read_text()
            processes = {path for path in Path("/proc").iterdir() if path.name.isdigit()}
            processes.discard(Path(f"/proc/{sweep.pid}"))  # where its user has typed it
            files = [str(process / name) for process in processes for name in ("cmdline", "environ")]
            seen = second_user.run("grep", "-rlsa", "secret-", *files, str(folder))
            go.write_text("\n")
        finally:
            sweep.kill()
    assert (seen.stdout, folder.stat().st_mode & 0o777) == ("", 0o700)
    assert "Permission denied" in second_user.run("ls", str(folder)).stderr


def test_a_folder_that_was_made_beforehand_keeps_its_mode(folder):
    folder.mkdir(mode=0o755)
    scaling("run", *FEW, "--cores", "1", "-o", folder, "--", "true")
    assert folder.stat().st_mode & 0o777 == 0o755


@pytest.fixture
def script(tmp_path):
    script = tmp_path / "prog.sh"
    script.write_text("true\n")
    return script


def test_an_edited_program_is_not_continued_and_measured_again_its_old_rows_are_kept(folder, script):
    def run(launches, *options):
        return scaling(
            *("run", "--no-report", "--cores", "1", "--launches", launches, *options, "-o", folder, "--", "sh", script)
        )

    run(2)
    before = list(read_rows(folder))
    os.utime(script, (1, 1))
    assert mentions(run(2).stderr, "all 2 runs … 2")
    script.write_text("true again\n")
    refused = run(3)
    assert (refused.returncode, list(read_rows(folder))) == (2, before)
    assert f"{folder} holds 2 runs made before prog.sh changed" in refused.stderr
    run(3, "--again")
    rows = list(read_rows(folder))
    assert (len(rows), len({row.program_files for row in (*rows, *before)})) == (3, 2)
    assert (folder / "rows.retried.jsonl").read_text().splitlines() == [row_to_json(row) for row in before]
    assert str(script.parent) not in (folder / "rows.jsonl").read_text()


def test_a_program_that_is_edited_while_it_is_measured_gets_no_answer(folder, script):
    script.write_text('echo : >> "$0"\n')
    done = scaling("run", *FEW, "--cores", "1", "-o", folder, "--", "sh", script)
    assert (done.returncode, done.stdout) == (2, "")
    assert "made before prog.sh changed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--", "true", b"\xff"], "program 'true': '\\udcff' is not UTF-8 text"),
        (["run", "--env", b"A=\xff", "--", "true"], "program 'true': '\\udcff' is not UTF-8 text"),
        (["run", "--items", "9" * 5000, "--", "true"], "has 5000 digits;"),
        (["run", "--budget", "9" * 5000, "--", "true"], "time above 0"),
        # Later Pythons take a name that is too long for one that is not there.
        (["run", "--cwd", "a" * 300, "--", "true"], "a" * 99),
        (["show", "a" * 300], "a" * 99),
    ],
)
def test_arguments_of_any_bytes_and_length_are_refused_in_one_line(arguments, message):
    assert mentions(complaint(scaling(*map(os.fsdecode, arguments))), message)


def test_a_variable_of_the_shell_may_be_any_bytes(folder, monkeypatch):
    monkeypatch.setenv("PLANET", os.fsdecode(b"\xff"))
    check = [sys.executable, "-c", "import os; assert os.environb[b'PLANET'] == b'\\xff'"]
    done = scaling("run", *FEW, "--cores", "1", "--env", "PLANET", "-o", folder, "--", *check)
    assert {row.outcome.status for row in read_rows(folder)} == {"ok"}, done.stderr


def test_too_few_open_files_are_one_sentence(folder):
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))}
    done = scaling("run", *FEW, "--cores", "1", "-o", folder, "--", "true", **limits)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("'Too many open files'; allow more open files with ulimit -n")


def test_a_measurement_and_its_answer_need_nothing_of_the_extra_report(tmp_path):
    absent = "import sys; sys.modules |= dict.fromkeys(('pandas', 'scipy', 'matplotlib', 'seaborn'))"

    def light(*words, code="from scaling.cli.main import main; main()"):
        command = [sys.executable, "-c", f"{absent}; {code}", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    done = light("run", "--cores", "1", "--launches", "2", "-n", "it", "--", "true")
    assert (done.returncode, to_install("report") in done.stderr) == (0, True), done.stderr
    for words in (["show"], ["fit"], ["capacity"], ["export", "--format=csv", "-o", "-"]):
        assert (light(*words, EXAMPLE).returncode, words) == (0, words)
    for command in ("plot", "report"):
        assert to_install("report") in complaint(light(command, EXAMPLE))
    frame = light(code=f"import scaling; scaling.load({str(EXAMPLE)!r}).points")
    assert "MissingExtraError" in frame.stderr
