"""A real browser that can reach nothing, and pages opened in it; and Node, which runs what a page computes."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scaling.reporting.page import page as page_module
from scaling.reporting.page.page import page
from tests.conftest import need

# What computes and draws the answers, without what only moves parts of the page.
COMPUTING = ("numbers.js", "sizing.js", "curve.js", "planner.js")
NO_PAGE = """"use strict";
const { facts: textContent, given } = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
const window = {};
const document = {
  getElementById: (id) => (id === "facts" ? { textContent } : null),
  createElementNS: (_, name) => ({
    name,
    attributes: {},
    children: [],
    setAttribute(key, value) { this.attributes[key] = String(value); },
    append(...parts) { this.children.push(...parts); },
  }),
};
"""

SWITCHES = (
    *("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
    # Whatever name is asked for, there is no such host.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class Browser:
    """Chromium with a page in it."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, path: Path, question: str = "") -> None:
        """A file, with the network off and the log empty."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(f"file://{path}{question}")

    def run(self, script: str, *arguments: object):
        """What a piece of JavaScript returns."""
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        """The text of every element that a selector names, as it stands in the document."""
        return self.run(
            "return Array.from(document.querySelectorAll(arguments[0]), (each) => each.textContent.trim())", selector
        )

    def complaints(self) -> list[str]:
        """What the console has been told since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def resize(self, width: int, height: int = 900) -> None:
        """A screen of another size."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)

    def prefer(self, scheme: str) -> None:
        """A system that is light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, driven by its own driver: nothing is downloaded."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    need(
        bool(chromium and driver), "chromium and its driver, as Debian packages chromium and chromium-driver have them"
    )
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for switch in (*SWITCHES, *(["--no-sandbox"] if os.geteuid() == 0 else [])):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        opened.execute_cdp_cmd("Network.enable", {})
        opened.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        yield Browser(opened)
    finally:
        opened.quit()


@pytest.fixture
def opened(browser, tmp_path):
    """The browser with the page of a result."""

    def open_page(result, question: str = "", **options: object) -> Browser:
        path = tmp_path / "page.html"
        path.write_text(page(result, **options), encoding="utf-8")
        browser.resize(1280)
        browser.open(path, question)
        return browser

    return open_page


class Node:
    """The scripts of a page that compute its answers, with the facts of a page and without a document."""

    def __init__(self, program: str) -> None:
        folder = Path(page_module.__file__).parent
        sources = [(folder / name).read_text(encoding="utf-8") for name in COMPUTING]
        self._scripts = "\n".join([NO_PAGE, *sources, "const { scaling } = window;"])
        self._program = program
        self.facts = json.dumps({"planner": {"series": [], "assurances": []}})

    def open(self, path: Path) -> None:
        """Take the facts of this page."""
        written = re.search(r'id="facts">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
        assert written is not None
        self.facts = written[1]

    def run(self, script: str, *arguments: object):
        """What a piece of JavaScript returns."""
        asked = f"console.log(JSON.stringify((function () {{ {script} }})(...given)));"
        given = json.dumps({"facts": self.facts, "given": arguments})
        command = [self._program, "-e", f"{self._scripts}\n{asked}"]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def node():
    """Node, as Debian packages it."""
    program = shutil.which("node")
    need(program is not None, "node, as the Debian package nodejs has it")
    return Node(program)
