"""What stands on the page, without a browser: the numbers of the terminal, and a sentence wherever there is nothing."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest

from benchmarks.shared.machines import row
from scaling.analysis.sizing.tables import size_tables
from scaling.machine.doctor.findings import Finding
from scaling.reporting.capacity import limits_facts
from scaling.reporting.fits import fit_facts
from scaling.reporting.page.page import code, embed_figures, page, page_facts, script_json
from scaling.reporting.page.tables import shared_apart
from scaling.reporting.plots.drawing import draw_figures
from scaling.reporting.points import point_facts, points_table
from scaling.reporting.quantities import STEP_KEYS
from scaling.results.evaluation import evaluate
from scaling.results.rows import Outcome
from scaling.results.store import read_folder
from tests.mentions import mentions
from tests.scaling.cli.here import scaling
from tests.scaling.reporting.page.invented import laws, write_folder
from tests.scaling.reporting.results import EIGHT, folder_of, made, result


def facts_of(text):
    return json.loads(re.search(r'<script type="application/json" id="facts">(.*?)</script>', text, re.S)[1])


def cells_of(text, table):
    """The cells of a table row by row, as text."""
    body = re.search(rf'<table[^>]*id="{table}".*?<tbody>(.*?)</tbody>', text, re.S)[1]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.S) for line in body.split("</tr>") if "<tr" in line]
    return [[unescape(re.sub(r"<ul>.*?</ul>|<[^>]+>", "", cell)) for cell in line] for line in rows]


def text_of(text, part):
    """The words of a section."""
    section = re.search(rf'<section id="{part}".*?</section>', text, re.S)[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", section)).split())


@pytest.fixture(scope="module")
def understood(tmp_path_factory):
    """A result of workloads that scale in four ways, and its folder."""
    four = ("amdahl", "falling clock", "no law", "busy host")
    path = write_folder(laws(workloads=four), tmp_path_factory.mktemp("page") / "pretend")
    return path, evaluate(read_folder(path))


@pytest.fixture(scope="module")
def shown(understood):
    return page(understood[1])


def test_the_facts_are_those_the_commands_print(understood, shown):
    folder, evaluation = understood
    facts = facts_of(shown)
    printed = json.loads(json.dumps([point_facts(point) for point in evaluation.points]))
    assert printed == json.loads(scaling("show", folder, "--json").stdout)["points"]
    left_out = tuple(STEP_KEYS.values())
    assert facts["points"] == [
        {key: value for key, value in one.items() if value not in (None, []) and not key.startswith(left_out)}
        for one in printed
    ]
    fitted = json.loads(json.dumps([fit_facts(fit) for fit in evaluation.fits]))
    assert fitted == json.loads(scaling("fit", folder, "--json").stdout)["series"]
    for one in fitted:
        del one["curve"]  # the planner has it, size by size
    assert facts["series"] == fitted
    assert facts["limits"] == json.loads(json.dumps([limits_facts(limits) for limits in evaluation.limits]))
    assert facts["limits"] == json.loads(scaling("capacity", folder, "--json").stdout)["limits"]


def test_the_table_has_every_point_as_the_terminal_shows_it_and_says_once_what_all_share(understood, shown):
    shared, table = shared_apart(points_table(understood[1].points), keep=1)
    assert cells_of(shown, "points-table") == [list(cells) for cells in table.rows]
    assert ("All rows:" in text_of(shown, "points")) is bool(shared)


def test_the_numbers_rows_are_sorted_by_are_those_of_the_facts(shown):
    body = re.search(r'id="points-table".*?<tbody>(.*?)</tbody>', shown, re.S)[1]
    for line, facts in zip(
        [line for line in body.split("</tr>") if "<tr" in line], facts_of(shown)["points"], strict=True
    ):
        values = [float(value) for value in re.findall(r'data-value="([^"]+)"', line)]
        for name in ("cores", "step_seconds", "items_per_second", "speedup", "efficiency", "launches"):
            assert facts[name] in values


def test_the_policy_lets_nothing_in_but_the_page_s_own_script_and_style(shown):
    policy = unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', shown)[1])
    allowed = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert {name for name, value in allowed.items() if value == "'none'"} == {"default-src", "base-uri", "form-action"}
    assert all(re.fullmatch("'sha256-[^']+'", allowed[name]) for name in ("script-src", "style-src"))
    assert shown.count("<script") == 2
    assert not re.findall(r"\s(?:src|action|on\w+|style)=", re.sub(r"<script.*?</script>", "", shown, flags=re.S))
    assert {link[0] for link in re.findall(r'href="([^"]*)"', shown)} == {"#"}


@pytest.mark.slow
def test_a_page_of_two_hundred_points_is_below_two_megabytes(tmp_path):
    toml = f'workloads = {list(EIGHT)}\ncores = "1-25"\nlaunches = 5'
    text = page(result(toml, tmp_path, 25))
    assert len(cells_of(text, "points-table")) == 200
    assert all("sizes" in series_facts for series_facts in facts_of(text)["planner"]["series"])
    assert len(text.encode()) < 2_000_000


def test_a_study_of_very_many_series_says_which_the_planner_leaves_out_and_computes_nothing_for_them(
    understood, monkeypatch
):
    computed = []
    module = "scaling.reporting.page.page"
    monkeypatch.setattr(f"{module}.MOST_SIZES", 20)
    monkeypatch.setattr(f"{module}.MANY_SIZES", 1000)
    monkeypatch.setattr(f"{module}.size_tables", lambda *known: computed.append(known) or size_tables(*known))
    series = page_facts(understood[1])["planner"]["series"]
    assert "sizes" in series[0]
    assert series[-1]["refusal"] == "left out of this page to keep it small; use `scaling capacity`"
    assert len(computed) == sum("sizes" in one for one in series) < len(series)


FAILED = Outcome("failed", "killed by signal 9 (out of memory?)", stderr_tail="no memory left\n")
LONG = "a program whose name is as long as sixty characters can be, x"


def full():
    return made("cores = [1, 2, 4, 8]\nlaunches = 3")


# Studies with next to nothing in them.
DEGENERATE = {
    "one point": lambda path: folder_of([row()], path),
    "all failed": lambda path: folder_of([replace(row, outcome=FAILED) for row in full()], path),
    "one workload": lambda path: folder_of(full(), path),
    "two counts": lambda path: folder_of(made("cores = [1, 2]\nlaunches = 3"), path),
    "a hundred and twenty-eight cores": lambda path: folder_of(
        made('cores = "doubling"\nlaunches = 3', 128, 2), path, 128, 2
    ),
    "long names": lambda path: folder_of(made("cores = [1, 2, 4, 8]\nlaunches = 3", renamed=[LONG]), path),
    "no machine": lambda path: folder_of(full(), path, with_machine=False),
    "a study that is none": lambda path: replace(folder_of(full(), path), study_toml="cores = = 1"),
    "no clock on the wall": lambda path: folder_of([replace(row, started_at="yesterday") for row in full()], path),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if "cores" in name else name for name in DEGENERATE]
)
def test_a_study_with_next_to_nothing_in_it_gives_a_page(tmp_path, name):
    text = page(evaluate(DEGENERATE[name](tmp_path)))
    assert facts_of(text)["points"]


def test_what_stands_between_backticks_is_code_and_all_else_is_escaped():
    assert code("<b> `scaling fit A&B` and ` alone") == "&lt;b&gt; <code>scaling fit A&amp;B</code> and ` alone"


def test_a_tag_in_the_name_of_a_workload_is_text(tmp_path):
    html = page(evaluate(folder_of(made("cores = [1, 2]\nlaunches = 3", renamed=["<i>odd</i>"]), tmp_path)))
    assert "<i>odd" not in html
    assert "&lt;i&gt;odd&lt;/i&gt;" in html


def test_findings_come_worst_first_with_their_remedies(tmp_path):
    findings = (
        Finding("ASLR", "ok", "on", "why", None),
        Finding("load", "spoiler", "3 tasks", "They run.", "Stop them."),
    )
    folder = replace(folder_of(made("cores = [1, 2]\nlaunches = 3"), tmp_path), findings=findings)
    words = text_of(page(evaluate(folder)), "machine")
    assert mentions(words, "1 thing here … : load.")
    assert words.index("load : 3 tasks") < words.index("Remedy: Stop them.") < words.index("ASLR : on")


@pytest.mark.parametrize("text", ["</script>", "<!--", "&amp;", "\u2028", "\u2029", 'a"b\\c', "\x00", "ordinary"])
def test_any_text_can_stand_in_a_script_element_and_is_read_back(text):
    written = "".join(script_json({"name": text}))
    assert not set(written) & set("<>&\u2028\u2029\x00")
    assert json.loads(written) == {"name": text}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_finite_number_is_left_empty(value):
    assert json.loads("".join(script_json({"speedups": [1.5, value]}))) == {"speedups": [1.5, None]}


def test_every_figure_is_drawn_without_styles(tmp_path):
    figures = embed_figures(draw_figures(result("cores = [1, 2, 4, 8]\nlaunches = 3", tmp_path)))
    assert "efficiency" in [figure.kind for figure in figures]
    assert all("style=" not in figure.svg and figure.svg.startswith("<svg ") and figure.caption for figure in figures)
