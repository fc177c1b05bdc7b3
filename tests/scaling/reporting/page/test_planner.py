"""The planner in the page says what `scaling capacity` says."""

import json
import random
import re
from functools import cache
from urllib.parse import urlencode

import numpy as np
import pytest
from scipy.special import ndtr
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from benchmarks.shared.packs import PackedMachine, bandwidth, pack_study
from scaling.analysis.curves.fit import by_settings, fit_all
from scaling.analysis.sizing.capacity import answer
from scaling.analysis.sizing.question import Goal, Question
from scaling.analysis.sizing.samples import ASSURANCES
from scaling.analysis.sizing.sizes import Price
from scaling.api.sources import Source
from scaling.reporting.capacity import answer_facts, sureness
from scaling.reporting.page.page import page, planner_facts
from scaling.reporting.words import cores_words, duration, figure, percent, share, short_size
from scaling.results.evaluation import evaluate
from scaling.results.store import read_folder
from tests.scaling.cli.here import scaling
from tests.scaling.reporting.page.invented import laws, shared, write_folder

PACKS = 'name = "packs"\nworkloads = ["calibrated"]\ncores = [1, 2, 4, 8]\nreplicas = "fill"\n'


def packs():
    """Replicas of a program that does 800 items a second on one core, five of which take all of the bandwidth."""
    pretend = PackedMachine(one_core_seconds=1 / 800, slowdown=bandwidth(5.0), noise=0.02, drift=0.02)
    return pretend.rows(pack_study(launches="5"))


GOALS = (Goal.THROUGHPUT, Goal.LATENCY, Goal.EFFICIENCY, Goal.HOURLY_BUDGET, Goal.CHEAPEST)
FOLDERS = {
    "sixteen cores": lambda path: write_folder(laws(), path),
    "second threads": lambda path: write_folder(shared(), path, 8, 2),
    "packs": lambda path: write_folder(packs(), path, 8, toml=PACKS),
    "no machine recorded": lambda path: write_folder(laws(0.03), path, with_machine=False),
}


@pytest.fixture(scope="module")
def folder_named(tmp_path_factory):
    """A results folder with its page in it, made once."""

    @cache
    def made(name):
        path = FOLDERS[name](tmp_path_factory.mktemp("planner") / "pretend")
        result = evaluate(read_folder(path))
        (path / "report.html").write_text(page(result, ()), encoding="utf-8")
        return path

    return made


@pytest.fixture(params=FOLDERS)
def folder(request, folder_named):
    return folder_named(request.param)


@pytest.fixture
def plain(folder_named):
    return folder_named("sixteen cores")


def test_sizes_come_in_their_order_whatever_number_of_threads_they_are_of(tmp_path):
    rows = [row for row in shared() if row.run.point.workload == "amdahl"]
    result = evaluate(read_folder(write_folder(rows, tmp_path / "pretend", 8, 2)))
    (series,) = planner_facts(result.limits, result.sizes)["series"]
    sizes = [(size["cores"], size["threads"]) for size in series["sizes"]]
    assert sizes == sorted(sizes)
    assert {threads for _, threads in sizes} == {1, 2}


@cache
def fits(folder):
    """What the command fits, once a folder."""
    return by_settings(fit_all(Source(folder).series()[0])[0])


def random_question(chance):
    """A random question about a program that does 800 items a second on one core."""
    goal, times = chance.choice(GOALS), chance.uniform(0.3, 16.0)
    target = {
        "throughput": 800.0 * times,
        "latency": 0.04 / times,
        "efficiency": chance.uniform(0.05, 1.0),
        "hourly-budget": chance.uniform(0.2, 40.0),
        "cheapest": 1.0,
    }[goal]
    price = Price(chance.choice([1.0, chance.uniform(0.01, 3.0)]), chance.choice([0.0, chance.uniform(0.0, 5.0)]))
    return Question(goal, target, chance.choice(ASSURANCES), price)


def question_facts(question):
    """A question as the page has it."""
    price = {"core_hour": question.price.core_hour, "replica_hour": question.price.replica_hour}
    return {"goal": question.goal, "target": question.target, "assurance": question.assurance, "price": price}


def put(node, asked):
    """What the page answers to questions, each about a fit."""
    given = [(fit.series.name, question_facts(question)) for fit, question in asked]
    return node.run("return arguments[0].map(([name, question]) => scaling.answer(name, question))", given)


def as_shown(text):
    """A sentence of the command without what the planner leaves out."""
    without_cores = re.sub(r"; by the curve alone, about [^;)]*", "", text or "")
    without_machines = re.sub(r" on \d+ machines? like this", "", without_cores)
    return re.sub(r"( an hour), [^)]* sure\)", r"\1)", without_machines) or None


def expected(fit, question, sizes):
    """What the command says, without the cores a law asks for and the chance of the replicas."""
    facts = json.loads(json.dumps(answer_facts(answer(fit, question, sizes))))
    replicas = facts["replicas"] and {
        name: facts["replicas"][name] for name in ("replicas", "cores", "threads", "hourly_cost", "crowding")
    }
    answered = {name: facts[name] for name in ("status", "allocation", "neighbours")}
    return {
        **answered,
        "reason": as_shown(facts["reason"]),
        "replicas": replicas,
        "levels": facts["levels"],
        "sentence": as_shown(facts["sentence"]),
    }


def assert_shown_alike(ours, theirs, question, where):
    """The same size, texts and counts; figures to nine digits; chances to the digits shown."""
    for name in ("status", "reason", "replicas", "levels", "sentence"):
        assert theirs[name] == (pytest.approx(ours[name]) if name == "replicas" else ours[name]), f"{where}: {name}"
    allocations = [
        [*([facts["allocation"]] if facts["allocation"] else []), *facts["neighbours"]] for facts in (ours, theirs)
    ]
    assert len(allocations[0]) == len(allocations[1]), where
    for one, other in zip(*allocations, strict=True):
        chances = one.pop("assurance"), other.pop("assurance")
        if None in chances:
            assert chances == (None, None), where
        else:
            words = sureness if question.goal is Goal.EFFICIENCY else share
            assert words(chances[0]) == words(chances[1]), where
        for name in one:
            same = one[name] if isinstance(one[name], str | None) else pytest.approx(one[name], rel=1e-9)
            assert other.get(name) == same, f"{where}: {name}"


def assert_answered_alike(node, folder, asked):
    """The page answers every question about a fit as the command does."""
    sizes = Source(folder).sizes
    node.open(folder / "report.html")
    for (fit, question), shown in zip(asked, put(node, asked), strict=True):
        assert_shown_alike(expected(fit, question, sizes), shown, question, f"{fit.series.name}: {question}")


def test_random_questions_are_answered_as_the_command_answers_them(node, folder):
    chance, fitted = random.Random(6), fits(folder)
    assert_answered_alike(node, folder, [(chance.choice(fitted), random_question(chance)) for _ in range(50)])
    names = node.run("return scaling.facts.planner.series.map((series) => series.name)")
    assert names == [fit.series.name for fit in fitted]


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_for_every_series(node, folder, goal):
    target = {"throughput": 2500.0, "latency": 0.011, "efficiency": 0.6, "hourly-budget": 9.0, "cheapest": 1.0}[goal]
    question = Question(goal, target, 0.9, Price(0.04, 0.1))
    assert_answered_alike(node, folder, [(fit, question) for fit in fits(folder)])


def test_the_form_shows_what_the_program_prints(browser, folder):
    options = ("--throughput", 2100, "--assurance", 0.8, "--core-hour", 0.05, "--replica-hour", 0.2)
    printed = scaling("capacity", folder, *options, "--json")
    answers = json.loads(printed.stdout)["answers"]
    browser.open(folder / "report.html")
    form = browser.driver.find_element
    Select(form(By.ID, "ask-goal")).select_by_value("throughput")
    Select(form(By.ID, "ask-assurance")).select_by_value("0.8")
    for name, value in (("target", "2100"), ("core-hour", "0.05"), ("replica-hour", "0.2")):
        form(By.ID, f"ask-{name}").clear()
        form(By.ID, f"ask-{name}").send_keys(value)
    for facts in answers:
        Select(form(By.ID, "ask-series")).select_by_value(facts["name"])
        form(By.ID, "ask-target").clear()
        form(By.ID, "ask-target").send_keys("2100")
        sentence = as_shown(facts["sentence"])
        wait(browser, lambda sentence=sentence: browser.texts("#reply-sentence") == [sentence])
        (size,) = browser.texts("#reply-size")
        none = "no single size" if facts["replicas"] else "no size"
        given = None if facts["cores"] is None else (facts["cores"], facts["threads"])
        assert size == (none if given is None else cores_words(*given))
        assert browser.texts("#reply-allocations tr.given td:first-child") == (
            [] if given is None else [short_size(*given)]
        )
        if facts["replicas"]:
            assert (
                f"{facts['replicas']['replicas']} × {facts['replicas']['cores']} core"
                in browser.texts("#reply-facts")[0]
            )
    assert browser.complaints() == []


def wait(browser, until):
    WebDriverWait(browser.driver, 30, 0.05).until(lambda _: until())


def test_a_link_opens_with_its_question_and_a_question_becomes_a_link(browser, folder):
    name = fits(folder)[-1].series.name
    query = {"series": name, "want": "efficiency", "target": 0.7, "assurance": 0.9, "core-hour": 2, "replica-hour": 1}
    browser.open(folder / "report.html", f"#ask?{urlencode(query)}")
    facts = answer_facts(
        answer(fits(folder)[-1], Question(Goal.EFFICIENCY, 0.7, 0.9, Price(2.0, 1.0)), Source(folder).sizes)
    )
    assert browser.texts("#reply-sentence") == [as_shown(facts["sentence"])]
    form = browser.driver.find_element
    form(By.ID, "ask-target").clear()
    form(By.ID, "ask-target").send_keys("0.4")
    wait(browser, lambda: "target=0.4" in browser.driver.current_url)
    browser.open(folder / "report.html", browser.run("return location.hash"))
    assert form(By.ID, "ask-target").get_attribute("value") == "0.4"
    browser.run("location.hash = 'ask?want=cheapest&series=nobody&assurance=0.9'")
    wait(browser, lambda: "per million" in browser.texts("#reply-sentence")[0])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("want=throughput&target=-1", "The target must be a number above 0."),
        ("want=efficiency&target=1.5", "The target must be a number between 0 and 1."),
        ("want=hourly-budget&target=", "The target must be a number above 0."),
        ("want=cheapest&core-hour=0", "A core-hour must cost more than 0"),
        ("want=cheapest&replica-hour=javascript:alert(1)", "A core-hour must cost more than 0"),
    ],
)
def test_questions_that_make_no_sense_are_refused_in_a_sentence(browser, plain, query, words):
    browser.open(plain / "report.html", f"#ask?{query}")
    assert browser.texts("#reply-sentence")[0].startswith(words)
    assert browser.texts("#reply-size") == ["no size"]
    assert browser.complaints() == []


def test_numbers_are_written_as_the_terminal_writes_them(node):
    chance = random.Random(7)
    numbers = [0.0, 0.5, 1.5, 2.5, 12.5, 0.125, 999.5, 9.995, 99999.95, 123456.5, 1e-5, 1e22, 5e-324, 1e60, -3.25]
    numbers += [0.99995, 0.99996, 0.9999499, 9.9996e-4, 9.9995e-7]
    numbers += [10 ** chance.uniform(-12, 14) for _ in range(300)] + [chance.randint(0, 9999) / 8 for _ in range(300)]
    forms = "const { fixed, general, figure, percent, duration } = scaling.numbers;"
    written = node.run(
        forms + "return arguments[0].map((x) => [fixed(x, 0), fixed(x, 1), general(x), general(x, 3), general(x, 4),"
        "figure(x), percent(x), duration(Math.abs(x))])",
        numbers,
    )
    for number, texts in zip(numbers, written, strict=True):
        python = [f"{number:.0f}", f"{number:.1f}", f"{number:g}", f"{number:.3g}", f"{number:.4g}"]
        assert texts == [*python, figure(number), percent(number), duration(abs(number))], number


def test_the_normal_distribution_is_good_to_more_digits_than_are_shown(node):
    at = np.concatenate([np.linspace(-20, 20, 2001), np.linspace(-4, 4, 2001)])
    shown = np.array(node.run("return arguments[0].map(scaling.normal)", at.tolist()))
    assert np.abs(shown / ndtr(at) - 1).max() < 1.3e-7


CURVE = """
const [name, goal, target] = arguments;
const { children } = curve(seriesNamed(name), { goal, target }, null, 640);
const labels = children.filter(({ attributes }) => attributes["text-anchor"] === "end" && attributes.x === "50");
const shown = ({ textContent, attributes }) => [Number(textContent.replace(" %", "")), Number(attributes.y) - 4];
const numbers = ({ attributes }) => attributes.points.split(" ").map((point) => point.split(",").map(Number));
return {
  labels: labels.map(shown),
  band: numbers(children.find(({ name }) => name === "polygon")),
};
"""


def answered(goal, size, work):
    """The ends of the interval at a size, in the unit of the goal."""
    rate, efficiency = size["rate"], size["efficiency"]
    if goal == "efficiency":
        return efficiency["low"], efficiency["high"]
    return (work / rate["high"], work / rate["low"]) if goal == "latency" else (rate["low"], rate["high"])


@pytest.mark.parametrize(("goal", "target"), [("throughput", 900.0), ("latency", 0.02), ("efficiency", 0.5)])
def test_the_band_of_the_curve_lies_where_the_answers_are(node, plain, goal, target):
    node.open(plain / "report.html")
    series = json.loads(node.facts)["planner"]["series"][0]
    drawn = node.run(CURVE, series["name"], goal, target)
    (first, bottom), *_, (last, top) = drawn["labels"]
    scale = (last - first) / (bottom - top) * (0.01 if goal == "efficiency" else 1.0)
    ends = [answered(goal, size, series["work"]) for size in series["sizes"]]
    expected_band = [*(high for _, high in ends), *(low for low, _ in reversed(ends))]
    shown = [(bottom - y) * scale for _, y in drawn["band"]]
    assert first == 0
    assert shown == pytest.approx(expected_band, abs=0.06 * abs(scale))


def test_an_assurance_that_is_not_offered_is_answered_with_the_usual_one(browser, plain):
    browser.open(plain / "report.html", "#ask?want=latency&target=1&assurance=0.7")
    assert browser.driver.find_element(By.ID, "ask-assurance").get_attribute("value") == "0.95"
    assert browser.complaints() == []
