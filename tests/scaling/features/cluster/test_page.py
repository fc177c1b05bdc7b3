"""The page of node types side by side, also as it looks in a real browser."""

import json
import re
from dataclasses import replace

import pytest

from scaling.features.cluster.node_types import NodeTypeEvaluation, same_work, side_by_side
from scaling.features.cluster.page import node_types_page
from scaling.features.cluster.reporting import between_table, side_by_side_sentences
from scaling.reporting.page.tables import shared_apart
from scaling.reporting.words import percent, with_interval
from scaling.results.evaluation import evaluate
from scaling.results.rows import Outcome
from tests.mentions import mentions
from tests.scaling.features.cluster.node_types import make_node_type
from tests.scaling.reporting.page.test_in_a_browser import HOSTILE, contrast, hostile, overflow, requests
from tests.scaling.reporting.page.test_page import facts_of, text_of
from tests.scaling.reporting.results import EIGHT

TOML = 'name = "fleet"\nquestion = "Which nodes?"\nworkloads = ["calibrated"]\n'
THREE = f"workloads = {list(EIGHT[:3])}\ncores = [1, 2, 3, 4, 6, 8]\nlaunches = 4"


def pages_of(node_types):
    return {node_type.name: f"{node_type.name}/report.html" for node_type in node_types}


def page_of(node_types, **options):
    return node_types_page("swept", TOML, node_types, pages_of(node_types), **options)


@pytest.fixture(scope="module")
def node_types(tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds")
    return [
        make_node_type("quick", path, THREE, core_hour=0.5),
        make_node_type("cheap", path, THREE, core_hour=0.04, slower=2.0, hosts=("c1", "c2"), apart=0.02),
    ]


@pytest.fixture(scope="module")
def shown(node_types):
    return page_of(node_types, unmeasured=["never"])


def test_the_answers_are_those_of_every_node_type_with_a_price(node_types, shown):
    words = text_of(shown, "answers")
    for node_type in node_types:
        for limits in node_type.evaluation.limits:
            assert with_interval(limits.fit.serial_fraction, percent) in words
            allocation = node_type.recommendation(limits.fit.series.key)
            assert f"{allocation.cores} cores" in words
            assert f" {allocation.cost_per_million:.3g} " in words
    assert words.count(", to within ") == 6
    assert "cost per million" in words
    assert "nothing has been measured" in words


def test_without_prices_the_cost_is_counted_in_core_hours(tmp_path):
    words = text_of(page_of([make_node_type("a", tmp_path), make_node_type("b", tmp_path)]), "answers")
    assert "core-hours per million" in words
    assert "cost per million" not in words


def test_which_node_type_is_cheapest_and_which_needs_the_fewest_cores_is_said_in_the_words_of_capacity(
    node_types, shown
):
    words = text_of(shown, "answers")
    for work in same_work(node_types):
        (sentence,) = side_by_side_sentences(side_by_side(work.answers))
        assert sentence in words
        assert "cheapest on cheap" in sentence
        assert "fewest cores on quick" in sentence


def test_the_same_work_is_asked_of_every_node_type(node_types, shown):
    words = text_of(shown, "same-work")
    for work in same_work(node_types):
        assert f"{work.target:g} items/s" in words
        for answered in work.answers:
            allocation = answered.answer.allocation
            assert re.search(rf"{answered.node_type} {allocation.cores} {100 * allocation.assurance:.1f} % ", words)
    assert words.count("cheapest") == words.count("fewest cores") == 3


def test_a_target_out_of_reach_has_its_reason_beside_every_node_type(node_types):
    words = text_of(page_of(node_types, target=1e9), "same-work")
    assert words.count("1e+09 items/s") == 3
    assert words.count("not reachable with 95 % confidence") + words.count("too few") == 6


def test_points_on_more_than_one_machine_have_the_spread_that_show_prints(node_types, shown):
    words = text_of(shown, "machines")
    _, table = shared_apart(between_table(node_types[1].between))
    for cells in table.rows:
        assert " ".join(cells) in words
    assert "Every point was measured" in text_of(page_of(node_types[:1]), "machines")


def test_every_node_type_is_linked_to_its_own_page(node_types, shown):
    links = [link for link in re.findall(r'href="([^"]*)"', shown) if not link.startswith("#")]
    assert set(links) == {"quick/report.html", "cheap/report.html"}
    assert mentions(text_of(shown, "node-types"), "processor Amdahl 470 cores 8 ")


def test_the_page_says_what_rows_of_any_node_type_leave_out(node_types, shown):
    assert "Left out" not in shown
    one, other = node_types
    folder = other.evaluation.folder
    rows = (replace(folder.rows[0], left_out=("USER", "HOME")), *folder.rows[1:])
    private = replace(other, evaluation=replace(other.evaluation, folder=replace(folder, rows=rows)))
    assert "HOME, USER, and command-line" in text_of(page_of([one, private]), "origin")


def test_the_figures_have_the_node_types_as_series(shown):
    assert re.findall(r'<figure id="figure-(\w+)"', shown) == ["efficiency", "speedup", "capacity"]
    for svg in re.findall(r"<svg .*?</svg>", shown, re.S):
        assert ">quick<" in svg
        assert ">cheap<" in svg


def test_the_facts_are_unrounded_and_those_of_the_commands(node_types, shown):
    facts = facts_of(shown)
    assert [type_facts["node_type"] for type_facts in facts["node_types"]] == ["quick", "cheap"]
    assert [len(type_facts["between_machines"]) for type_facts in facts["node_types"]] == [
        0,
        len(node_types[1].between),
    ]
    for type_facts, node_type in zip(facts["node_types"], node_types, strict=True):
        assert [one["recommended_cores"] for one in type_facts["limits"]] == [
            one.recommended for one in node_type.evaluation.limits
        ]
        assert [one["law"] for one in type_facts["series"]] == [one.law.value for one in node_type.evaluation.fits]
    for work_facts, work in zip(facts["same_work"], same_work(node_types), strict=True):
        allocations = {answered.node_type: answered.answer.allocation for answered in work.answers}
        assert (work_facts["target"], work_facts["cheapest"], work_facts["fewest_cores"]) == (
            work.target,
            "cheap",
            "quick",
        )
        assert {name: one["cost_per_million"] for name, one in work_facts["node_types"].items()} == {
            name: allocation.cost_per_million for name, allocation in allocations.items()
        }


def test_the_policy_is_that_of_every_page(shown):
    assert "default-src 'none'; script-src &#39;sha256-".replace("'none'", "&#39;none&#39;") in shown
    assert shown.count("<script") == 2
    assert not re.findall(r"\s(?:src|action|on\w+|style)=", re.sub(r"<script.*?</script>", "", shown, flags=re.S))


def bare(tmp_path):
    """Kinds with next to nothing in them."""
    lone = make_node_type("one", tmp_path, "cores = [1]\nlaunches = 1", cores=1)
    folder = lone.evaluation.folder
    bad = tuple(replace(row, outcome=Outcome("failed", "it broke")) for row in folder.rows)
    failed = replace(lone, name="failed", evaluation=evaluate(replace(folder, rows=bad, machine=None)))
    return [lone, failed]


def test_node_types_with_next_to_nothing_give_a_page_with_sentences(tmp_path):
    text = page_of(bare(tmp_path))
    assert "series has a curve" in text_of(text, "answers")
    assert "one: series 'calibrated train'" in text_of(text, "answers")
    assert "failed: no launch succeeded" in text_of(text, "answers")
    assert "nothing to compare" in text_of(text, "same-work")
    assert 'id="figures"' not in text


def test_points_that_are_imprecise_have_a_law(tmp_path):
    few = make_node_type("few", tmp_path, "cores = [1, 2, 4, 8]\nlaunches = 2")
    text = page_of([few])
    assert "left out" not in text_of(text, "answers")
    assert "4 points, 1 ok, 3 imprecise" in text


@pytest.fixture
def opened(browser, tmp_path):
    def open_page(text):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        browser.resize(1280)
        browser.open(path)
        return browser

    return open_page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_asks_for_nothing_and_can_be_read(opened, shown, scheme):
    browser = opened(shown)
    browser.prefer(scheme)
    assert len(requests(browser)) == 1
    assert browser.complaints() == []
    for selector in (".meta", ".hint", ".program th", "#answers th a", "#same-work .mark", "#node-types dt"):
        assert contrast(browser, selector) >= 4.5, selector
    for width in (1280, 390):
        browser.resize(width)
        assert overflow(browser) == 0, width
    browser.prefer("light")


def test_node_types_with_next_to_nothing_fit_the_screen_as_well(opened, tmp_path):
    browser = opened(page_of(bare(tmp_path)))
    assert browser.complaints() == []
    for width in (1280, 390):
        browser.resize(width)
        assert overflow(browser) == 0, width


@pytest.mark.parametrize("text", [HOSTILE[place] for place in (1, 2, 3, 6)], ids=range(4))
def test_hostile_texts_run_nothing_and_are_shown_as_text(opened, tmp_path, text):
    first, second = (NodeTypeEvaluation(name, 1.0, hostile(text, tmp_path)) for name in ("a", "b"))
    toml = f"workloads = {json.dumps(text)}\nname = {json.dumps(text)}"
    browser = opened(node_types_page(text, toml, [first, second], pages_of([first, second])))
    assert browser.run("return window.probe ?? null") is None
    assert browser.complaints() == []
    assert len(requests(browser)) == 1
    shown = " ".join(text.split())
    for selector in (".program th", "#same-work h3", "#node-types dd"):
        assert shown in " ".join(browser.texts(selector)[0].split()), selector
    assert browser.run("return document.querySelectorAll('script').length") == 2
    for width in (1280, 390):
        browser.resize(width)
        assert overflow(browser) == 0, width
