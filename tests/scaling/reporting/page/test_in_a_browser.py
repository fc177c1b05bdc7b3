"""The page in a real browser with the network off: it opens, sorts, filters, fits, and runs nothing of others."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from benchmarks.shared.machines import HOST
from scaling.machine.doctor.findings import Finding
from scaling.reporting.page.page import page
from scaling.results.evaluation import evaluate
from scaling.results.rows import Outcome
from scaling.results.store import read_folder
from tests.scaling.reporting.page.invented import laws, write_folder
from tests.scaling.reporting.page.test_page import DEGENERATE
from tests.scaling.reporting.results import EIGHT, folder_of, made, result, stolen

WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page on the disk: eight workloads with disturbed points on eight cores and more."""
    rows = [stolen(row) if row.run.point.cores >= 8 else row for row in laws()]
    folder = write_folder(rows, tmp_path_factory.mktemp("b"))
    written = folder / "report.html"
    written.write_text(page(evaluate(read_folder(folder))), encoding="utf-8")
    return written


@pytest.fixture
def shown(browser, path):
    browser.resize(1280)
    browser.open(path)
    return browser


def requests(browser):
    """What the browser has asked anybody for since the page was opened."""
    events = [json.loads(entry["message"])["message"] for entry in browser.driver.get_log("performance")]
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


def column(browser, name):
    """The visible cells of a column, from the top."""
    return browser.run(
        """const heads = Array.from(document.querySelectorAll("#points-table th"), (each) => each.textContent);
        const rows = Array.from(document.querySelectorAll("#points-table tbody tr")).filter((row) => !row.hidden);
        return rows.map((row) => row.cells[heads.indexOf(arguments[0])].textContent);""",
        name,
    )


def header(browser, name):
    return next(
        element
        for element in browser.driver.find_elements(By.CSS_SELECTOR, "#points-table th")
        if element.text.startswith(name)
    )


def overflow(browser):
    return browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_it_opens_with_the_network_off_asks_for_nothing_and_complains_of_nothing(shown, path):
    assert requests(shown) == [path.as_uri()]
    assert shown.run("return performance.getEntriesByType('resource').length") == 0
    assert shown.complaints() == []
    assert shown.texts("h1") == ["pretend"]


def test_the_policy_stops_what_the_page_did_not_bring(shown):
    shown.run("document.body.append(Object.assign(document.createElement('img'), { src: 'http://example.org/x.png' }))")
    shown.run(
        "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.probe = 1' }))"
    )
    shown.run("document.body.setAttribute('onclick', 'window.probe = 1'); document.body.click()")
    assert shown.run("return window.probe ?? null") is None
    refused = [complaint for complaint in shown.complaints() if "Content Security Policy" in complaint]
    assert [directive in " ".join(refused) for directive in ("example.org", "inline script", "event handler")] == [
        True
    ] * 3


def test_headers_sort_by_number_up_and_down_with_what_is_missing_last(shown):
    header(shown, "step").find_element(By.TAG_NAME, "button").click()
    facts = {point["step_seconds"] for point in shown.run("return scaling.facts.points")}
    values = shown.run(
        "return Array.from(document.querySelectorAll('#points-table td:nth-child(3)'), (c) => +c.dataset.value)"
    )
    assert values == sorted(values)
    assert set(values) == facts
    assert header(shown, "step").get_attribute("aria-sort") == "ascending"
    header(shown, "step").find_element(By.TAG_NAME, "button").click()
    assert header(shown, "step").get_attribute("aria-sort") == "descending"
    assert shown.run(
        "return Array.from(document.querySelectorAll('#points-table td:nth-child(3)'), (c) => +c.dataset.value)"
    ) == sorted(values, reverse=True)


@pytest.mark.parametrize("key", [Keys.ENTER, Keys.SPACE])
def test_headers_can_be_reached_and_used_by_keyboard(shown, key):
    button = header(shown, "workload").find_element(By.TAG_NAME, "button")
    button.send_keys(key)
    first = column(shown, "workload")
    button.send_keys(key)
    assert (first, column(shown, "workload")) == (sorted(first), sorted(first, reverse=True))
    assert [
        element.get_attribute("aria-sort")
        for element in shown.driver.find_elements(By.CSS_SELECTOR, "#points-table th")
    ].count("descending") == 1


def test_rows_are_filtered_by_text_and_by_validity_and_counted(shown):
    total = len(column(shown, "workload"))
    assert shown.texts("#filter-count") == [f"{total} of {total} rows"]
    shown.driver.find_element(By.ID, "filter-text").send_keys("USL")
    assert set(column(shown, "workload")) == {"usl"}
    shown.driver.find_element(By.ID, "filter-valid").click()
    verdicts = column(shown, "verdict")
    assert all(verdict.startswith(("ok", "imprecise")) for verdict in verdicts)
    assert shown.texts("#filter-count") == [f"{len(verdicts)} of {total} rows"]
    assert 0 < len(verdicts) < total
    shown.driver.find_element(By.ID, "filter-text").send_keys(" no quiet turn")
    assert shown.texts("#filter-count") == [f"0 of {total} rows"]


def test_the_first_key_leads_past_the_menu_and_focus_can_be_seen(shown):
    shown.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert shown.run("return document.activeElement.textContent") == "Skip to the answers"
    assert shown.run("return document.activeElement.getBoundingClientRect().left >= 0")
    assert shown.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_landmarks_headings_and_names_are_there_for_those_who_do_not_see(shown):
    assert shown.run("return document.querySelectorAll('main, header, nav, footer').length") == 4
    levels = shown.run("return Array.from(document.querySelectorAll('h1, h2, h3'), (each) => +each.tagName[1])")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    nameless = (
        """return Array.from(document.querySelectorAll("input, select")).filter((each) => !each.labels.length).length"""
    )
    assert shown.run(nameless) == 0
    assert (
        shown.run(
            "return Array.from(document.querySelectorAll('svg')).filter((each) => !each.getAttribute('role')).length"
        )
        == 0
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_as_wide_as_the_screen_light_and_dark(browser, path, width, scheme):
    browser.resize(width)
    browser.prefer(scheme)
    browser.open(path)
    assert overflow(browser) == 0
    dark = browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")
    browser.driver.find_element(By.ID, "theme").click()
    assert (browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)") != dark
    browser.prefer("light")


def test_on_paper_it_is_dark_on_white_whatever_the_screen_was(browser, path):
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    browser.open(path)
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("return getComputedStyle(document.getElementById('planner')).display") == "none"
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def contrast(browser, selector):
    """How far the text of an element stands out from the nearest background behind it, as WCAG counts."""
    return browser.run(
        """function light(colour) {
          const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255);
          const [r, g, b] = parts.map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        }
        let behind = document.querySelector(arguments[0]);
        const text = light(getComputedStyle(behind).color);
        while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
        const ground = light(getComputedStyle(behind).backgroundColor);
        return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);""",
        selector,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("selector", ["h1", ".meta", ".hint", ".rest", ".mark", ".mark.unsure", "nav a", "dt", "label"])
def test_text_stands_out_from_what_is_behind_it(browser, path, scheme, selector):
    browser.prefer(scheme)
    browser.open(path)
    assert contrast(browser, selector) >= 4.5
    browser.prefer("light")


HOSTILE = (
    "<script>window.probe=1</script>",
    '"></td></tr></table><img src=x onerror=window.probe=1>',
    "</script><script>window.probe=1</script>",
    "{{7*7}}{% raw %}",
    "line\u2028end\u2029here",
    "javascript:window.probe=1",
    "x" * 60,
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    "<!--<script>&lt;b&gt;&amp;",
)


def hostile(text, tmp_path):
    """A result in which everything that can be a text is this one."""
    rows = made("cores = [1, 2, 4, 8]\nlaunches = 3", renamed=[text])
    machine = replace(HOST, host=text, cpu_model=text, kernel=text)
    rows = [replace(row, machine=machine, versions=((text, text),), environment=((text, text),)) for row in rows]
    failed = Outcome("failed", f"it said {text}", stderr_tail=text)
    rows += [replace(row, outcome=failed, run=replace(row.run, launch=9)) for row in rows if row.run.launch == 1]
    findings = (Finding(text, "spoiler", text, text, text),)
    toml = f"workloads = {json.dumps(text)}\nname = {json.dumps(text)}\nquestion = {json.dumps(text)}"
    folder = replace(folder_of(rows, tmp_path), name=text, study_toml=toml, findings=findings)
    machine = replace(folder.machine, host=text)
    return evaluate(replace(folder, machine=machine))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_run_nothing_and_are_shown_as_text(opened, tmp_path, text):
    browser = opened(hostile(text, tmp_path))
    assert browser.run("return window.probe ?? null") is None
    assert browser.complaints() == []
    assert len(requests(browser)) == 1
    shown = " ".join(text.split())
    for selector in ("#points .shared", "#machine", ".finding", ".failures li", "#answers th[scope=row]"):
        assert shown in " ".join(browser.texts(selector)[0].split()), selector
    assert shown in " ".join(browser.texts(".meta")[0].split())
    assert text.splitlines()[0] in browser.texts("footer")[0]
    assert json.dumps(text)[1:-1] in browser.texts(".study")[0]
    assert shown in " ".join(browser.texts("#ask-series option")[0].split())
    assert shown in " ".join(browser.texts("#reply-sentence")[0].split())
    assert browser.run("return document.querySelectorAll('script').length") == 2
    assert browser.run("return document.querySelectorAll('#points-table tbody tr').length") == 4
    for width in WIDTHS:
        browser.resize(width)
        assert overflow(browser) == 0, width


@pytest.mark.parametrize(
    "name", ["one point", "all failed", "two counts", "a hundred and twenty-eight cores", "no machine"]
)
def test_a_study_with_next_to_nothing_in_it_opens_as_well(opened, tmp_path, name):
    browser = opened(evaluate(DEGENERATE[name](tmp_path)))
    assert browser.complaints() == []
    for width in WIDTHS:
        browser.resize(width)
        assert overflow(browser) == 0, width


def test_a_large_study_fits_the_screen(opened, tmp_path):
    browser = opened(result(f'workloads = {list(EIGHT)}\ncores = "1-20"\nlaunches = 3\nsmt = "all"', tmp_path, 20, 2))
    assert browser.complaints() == []
    assert len(column(browser, "workload")) == 320
    for width in WIDTHS:
        browser.resize(width)
        assert overflow(browser) == 0, width


def test_without_script_the_table_is_a_table_and_the_planner_names_the_command(browser, path):
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.resize(1280)
        browser.driver.get("about:blank")
        browser.driver.get(path.as_uri())
        assert "scaling capacity" in browser.driver.find_element(By.CSS_SELECTOR, "#planner noscript").text
        assert not browser.driver.find_element(By.ID, "planner-form").is_displayed()
        assert not browser.driver.find_element(By.ID, "filter").is_displayed()
        assert browser.driver.find_element(By.ID, "points-table").is_displayed()
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
