from dataclasses import replace
from pathlib import Path

import pytest

from scaling.api.results import Results, load
from scaling.cli import measuring
from scaling.errors import StoreError
from tests.scaling.cli.here import scaling
from tests.scaling.cli.scaling import scaling as program
from tests.scaling.reporting.page.invented import shared, write_folder
from tests.scaling.reporting.results import made, written

DATA = Path(__file__).parents[2] / "data" / "other_tools"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(shared(), tmp_path_factory.mktemp("report") / "pretend", 8, 2)


def test_the_page_lies_beside_the_rows_and_its_path_is_printed(folder):
    completed = program("report", folder)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """As little as makes a page."""
    return written(made("cores = [1, 2]\nlaunches = 3"), tmp_path_factory.mktemp("report") / "small")


def test_the_page_may_lie_elsewhere(small, tmp_path):
    completed = scaling("report", small, "-o", tmp_path / "mine.html")
    assert completed.stdout == f"{tmp_path / 'mine.html'}\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.html"]


def test_its_figures_may_be_written_too_and_are_those_of_plot(small, tmp_path):
    completed = scaling("report", small, "-o", tmp_path / "mine.html", "--figures").stdout.splitlines()
    plotted = scaling("plot", small, "-o", tmp_path / "plotted").stdout.splitlines()
    assert completed == [*(path.replace("plotted", "figures") for path in plotted), str(tmp_path / "mine.html")]
    svgs = [path for path in plotted if path.endswith(".svg")]
    assert svgs
    assert all(Path(path).read_text() == (tmp_path / "figures" / Path(path).name).read_text() for path in svgs)


@pytest.mark.parametrize(("output", "words"), [("no/where.html", "cannot be written"), ("", "cannot be written")])
def test_a_page_that_cannot_be_written_is_one_sentence_and_leaves_nothing(small, tmp_path, output, words):
    completed = scaling("report", small, "-o", tmp_path / output)
    assert completed.returncode == 2
    assert completed.stderr.startswith("scaling: ")
    assert words in completed.stderr
    assert completed.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [StoreError("the disk is full"), ValueError("a mistake of ours")])
def test_a_page_that_cannot_be_made_fails_no_sweep(tmp_path, monkeypatch, error):
    def refuse(results):
        raise error

    monkeypatch.setattr(Results, "report", refuse)
    folder = tmp_path / "my results"
    folder.mkdir()
    note = measuring.report_note(load(folder))
    assert note == f"no page was written ({error}); to try again, run `scaling report '{folder}'`"


def test_links_in_a_received_folder_are_not_followed(small, tmp_path):
    received, keys = tmp_path / "received", tmp_path / "authorized_keys"
    received.mkdir()
    keys.write_text("mine")
    (received / "rows.jsonl").write_bytes((small / "rows.jsonl").read_bytes())
    for name in ("report.html", ".report.html.draft"):
        (received / name).symlink_to(keys)
    (received / "figures").symlink_to(tmp_path)
    assert scaling("report", received).returncode == 0
    assert "figures is a link" in scaling("plot", received, "efficiency").stderr
    assert keys.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["authorized_keys", "received"]


@pytest.mark.parametrize("command", [("report",), ("export", "--format", "csv")])
def test_no_output_takes_the_place_of_the_measurements_or_of_a_device(small, command):
    before = (small / "rows.jsonl").read_bytes()
    completed = scaling(command[0], small, *command[1:], "-o", small / "rows.jsonl")
    assert completed.returncode == 2
    assert "own files" in completed.stderr
    assert (small / "rows.jsonl").read_bytes() == before
    assert scaling(command[0], small, *command[1:], "-o", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


@pytest.fixture
def personal(tmp_path):
    """A folder whose rows and study tell of a person, as rows once did."""
    secret = "command: ./prog --token=hunter2"
    private = {"USER": "ada", "HOME": "/home/ada", "PATH": "/home/ada/bin", "LC_SECRET_PROJECT": "x", "LANG": "C"}
    rows = []
    for one in made("cores = [1, 2]\nlaunches = 3"):
        point = replace(one.run.point, workload=secret)
        rows.append(replace(one, run=replace(one.run, point=point), environment=tuple(private.items())))
    failed = replace(rows[-1].outcome, status="failed", reason="no /home/ada/x --token=hunter2", step_seconds=())
    folder = written([*rows[:-1], replace(rows[-1], outcome=failed)], tmp_path / "personal")
    (folder / "study.toml").write_text(f'workloads = ["{secret}"]\n')
    return folder


PERSONAL = ("hunter2", "/home/ada", "SECRET_PROJECT=", ">ada<")


def test_a_page_leaves_out_what_tells_of_a_person_and_says_so(personal):
    assert scaling("report", personal).returncode == 0
    page = (personal / "report.html").read_text()
    assert not [text for text in PERSONAL if text in page]
    assert "HOME, LC_SECRET_PROJECT, PATH, USER," in page
    assert scaling("report", personal, "--full").returncode == 0
    page = (personal / "report.html").read_text()
    assert "hunter2" in page
    assert "/home/ada/bin" in page


def test_an_export_leaves_it_out_too(personal):
    assert scaling("export", personal, "--format", "csv").returncode == 0
    table = (personal / "rows.csv").read_text()
    assert not [text for text in PERSONAL if text in table]
    assert "command: ./prog --token=***" in table
    assert scaling("export", personal, "--format", "csv", "--full").returncode == 0
    assert "no /home/ada/x --token=hunter2" in (personal / "rows.csv").read_text()


def test_the_page_of_another_tools_file_lies_beside_it_and_says_what_is_not_known(tmp_path):
    path = tmp_path / "bench.json"
    path.write_text((DATA / "hyperfine.json").read_text())
    completed = scaling("report", path, "--cores-from", "threads")
    assert completed.stdout == f"{tmp_path / 'bench.html'}\n", completed.stderr
    page = (tmp_path / "bench.html").read_text()
    assert "does not record CPUs" in page
    assert "How quiet the host was" not in page  # it was not watched
    assert "6 points, 6 ok · 48 runs" in page
    assert "scaling show bench.json" in page
    assert "scaling sweep" not in page


def test_the_page_of_an_export_has_the_points_of_its_folder(small, tmp_path):
    scaling("export", small, "--format", "json", "-o", tmp_path / "rows.json")
    assert scaling("report", tmp_path / "rows.json").returncode == 0
    pages = [page.read_text() for page in (tmp_path / "rows.html", scaled_page(small))]
    assert [page.count("<tr data-valid") for page in pages] == [pages[0].count("<tr data-valid")] * 2


def scaled_page(folder):
    scaling("report", folder)
    return folder / "report.html"
