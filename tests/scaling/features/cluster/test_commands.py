"""A cluster's folder in the commands that read results: node types side by side, never joined."""

import json
import re
from dataclasses import replace

import pytest

from benchmarks.shared.machines import HOST, AmdahlMachine, machine, study
from scaling.api.results import load
from scaling.cli import measuring
from scaling.features.cluster.folder import (
    Closed,
    Ended,
    Planned,
    Request,
    Shard,
    Started,
    Submitted,
    new_job_folder,
)
from scaling.results.store import Store
from scaling.study.planning import plan
from tests.scaling.cli.here import scaling
from tests.scaling.reporting.test_schemas import check, printed

CLUSTER = """
[[node_types]]
name = "quick"
core_hour = 4.0

[[node_types]]
name = "cheap"
core_hour = 1.0
nodes = 2

[[node_types]]
name = "never"
"""


STUDY = study('cores = [1, 2, 3, 4, 6, 8, 12, 16]\nworkloads = ["calibrated"]', launches="4")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    node_types = {"quick": AmdahlMachine(0.05, 0.5, noise=0.002), "cheap": AmdahlMachine(0.05, 1.0, noise=0.002)}
    for name, engine in node_types.items():
        store = Store(tmp_path / name)
        topology = machine(16)
        store.write_machine(HOST, topology)
        for number, row in enumerate(engine.execute(plan(STUDY, topology).runs)):
            host = f"{name}{number % 2}" if name == "cheap" else name
            store.append(replace(row, machine=replace(HOST, host=host)))
        store.close()
    return tmp_path


def test_show_as_json_keeps_node_types_apart(folder):
    node_types = json.loads(scaling("show", folder, "--json").stdout)["node_types"]
    assert [node_type["node_type"] for node_type in node_types] == ["quick", "cheap"]
    assert [len(node_type["points"]) for node_type in node_types] == [8, 8]
    assert node_types[0]["between_machines"] == []
    assert {machine["host"] for machine in node_types[1]["between_machines"][0]["machines"]} == {"cheap0", "cheap1"}


def test_fit_has_a_law_per_node_type(folder):
    series = json.loads(scaling("fit", folder, "--json").stdout)["series"]
    assert [fit["name"] for fit in series] == [
        "quick: calibrated train compact smt1",
        "cheap: calibrated train compact smt1",
    ]
    for fit in series:
        assert fit["serial_fraction"]["value"] == pytest.approx(0.05, abs=0.01)


def test_capacity_sets_node_types_side_by_side_at_the_price_of_each(folder):
    completed = scaling("capacity", folder, "--throughput", 6)
    assert completed.returncode == 0, completed.stderr
    assert "train: cheapest on cheap" in completed.stdout
    assert "fewest cores on quick" in completed.stdout
    (facts,) = json.loads(scaling("capacity", folder, "--throughput", 6, "--json").stdout)["node_types"]
    assert (facts["cheapest"], facts["fewest_cores"]) == ("cheap", "quick")
    # Twice as fast and four times as dear a core: more than half the cores, and more than twice the price.
    assert facts["node_types"]["quick"]["cores"] < facts["node_types"]["cheap"]["cores"]
    assert facts["node_types"]["quick"]["cost_per_million"] > 1.5 * facts["node_types"]["cheap"]["cost_per_million"]


def test_capacity_without_a_question_has_the_landmarks_of_every_node_type(folder):
    facts = json.loads(scaling("capacity", folder, "--json").stdout)
    names = [series["name"] for series in facts["limits"]]
    assert names == ["quick: calibrated train compact smt1", "cheap: calibrated train compact smt1"]
    assert [one["subject"] for one in facts["answers"]] == ["quick: calibrated train", "cheap: calibrated train"]


def test_a_node_type_without_an_undisturbed_point_is_passed_over_with_a_note(folder):
    store = Store(folder / "never")
    for row in AmdahlMachine().execute(plan(study(launches="1"), machine(2)).runs[:1]):
        store.append(replace(row, witness=replace(row.witness, steal_seconds=1e3)))
    store.close()
    completed = scaling("fit", folder)
    assert completed.returncode == 0
    assert "never: no usable point among 1 point (1 disturbed; no quiet turn)" in completed.stderr


def test_show_counts_runs_and_tells_jobs_apart_by_their_folders(folder):
    for number, facts in enumerate(
        (
            [Submitted("7"), Started("n1", "7"), Planned(33), Ended("done"), Closed()],
            [Submitted("8"), Started("n2", "8"), Planned(33)],
            [Submitted("9")],
            [Submitted("10"), Started("n3", "10"), Closed()],
            [Started(), Closed()],
        ),
        1,
    ):
        job = new_job_folder(folder, Request("quick", Shard(number, 5), "", None))
        for fact in facts:
            job.write(fact)
    facts = json.loads(scaling("show", folder, "--json").stdout)
    assert not facts["driver_running"]
    quick, cheap, never = facts["standings"]
    assert (quick["planned"], quick["done"], cheap["planned"], cheap["done"], never["done"]) == (33, 33, None, 33, 0)
    assert [(job["job"], job["state"], job["node"]) for job in quick["jobs"]] == [
        ("7", "done", "n1"),
        ("8", "running", "n2"),
        ("9", "waiting", None),
        ("10", "lost", "n3"),
        (None, "withdrawn", None),
    ]
    shown = scaling("show", folder)
    assert "no driver is running" in shown.stderr
    assert ["never", "?", "0", "0"] in map(str.split, shown.stdout.splitlines())


def test_what_is_said_of_a_cluster_holds_to_its_schema(folder):
    new_job_folder(folder, Request("quick", Shard(1, 1), "", None)).write(Submitted("7"))
    for command, *options in (("show",), ("fit",), ("capacity", "--throughput", 3)):
        check(command, printed(command, folder, *options))


def test_plot_has_figures_of_every_node_type_and_of_the_node_types_side_by_side(folder):
    completed = scaling("plot", folder, "efficiency", "steps", "--format", "svg")
    assert completed.returncode == 0, completed.stderr
    files = ["quick/efficiency", "quick/steps", "cheap/efficiency", "cheap/steps", "efficiency"]
    assert completed.stdout.splitlines() == [f"{folder}/figures/{file}.svg" for file in files]
    assert {str(path) for path in folder.glob("figures/**/*.svg")} == set(completed.stdout.splitlines())
    together = (folder / "figures/efficiency.svg").read_text()
    assert ">quick<" in together
    assert ">cheap<" in together


def test_the_page_says_of_a_target_what_capacity_says(folder, tmp_path):
    completed = scaling("report", folder, "-o", tmp_path / "my page.html", "--target", 6)
    assert completed.stdout.splitlines() == [
        f"{tmp_path}/my page{node_type}.html" for node_type in ("-quick", "-cheap", "")
    ]
    text = (tmp_path / "my page.html").read_text()
    assert 'href="my%20page-quick.html"' in text
    facts = json.loads(re.search(r'id="facts">(.*?)</script>', text)[1])
    (answer,) = json.loads(scaling("capacity", folder, "--throughput", 6, "--json").stdout)["node_types"]
    assert facts["same_work"] == [{"target": 6, **answer}]
    fitted = json.loads(scaling("fit", folder, "--json").stdout)["series"]
    for node_type, one in zip(facts["node_types"], fitted, strict=True):
        own = {name: one[name].partition(": ")[2] for name in ("name", "sentence")}  # without its node type
        assert node_type["series"] == [{**one, **own}]
    shown = json.loads(scaling("show", folder, "--json").stdout)["node_types"]
    assert [node_type["between_machines"] for node_type in facts["node_types"]] == [
        node_type["between_machines"] for node_type in shown
    ]


def test_a_sweep_ends_with_a_page_of_every_node_type_and_one_that_sets_them_side_by_side(folder):
    assert measuring.report_note(load(folder)) == f"the HTML report is {folder}/report.html"
    text = (folder / "report.html").read_text()
    links = set(re.findall(r'href="([^"#]+)"', text))
    assert links == {"quick/report.html", "cheap/report.html"}
    assert all((folder / link).exists() for link in links)
    assert "nothing has been measured" in text
