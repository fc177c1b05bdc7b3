import json
from pathlib import Path

import pytest

from scaling.results.compressed import open_part
from tests.scaling.cli.here import json_of, scaling
from tests.scaling.reporting.results import made, written

SMALL = Path(__file__).parents[4] / "docs" / "examples" / "profiles-small"


def test_the_same_values_are_in_the_json(two_networks):
    facts = json_of("profile", two_networks, "--predict", "16")["analysis"]
    assert len(facts["profiles"]) == 8
    assert len(facts["scaling"]) == 4
    for scaling_facts in facts["scaling"]:
        [predicted] = scaling_facts["predictions"]
        assert predicted["threads"] == 16
        assert predicted["seconds"] > 0
        assert sum(part["share"]["value"] for part in scaling_facts["losses"][0]["parts"]) == pytest.approx(1.0)


def test_figures_of_a_profile_are_drawn_from_its_folder(tmp_path):
    completed = scaling("plot", SMALL, "op-tail", "op-similarity", "-o", tmp_path, "--format", "svg")
    assert completed.stdout.splitlines() == [f"{tmp_path}/op-tail.svg", f"{tmp_path}/op-similarity.svg"]


def test_networks_are_compared_with_the_ceilings_measured_beside_them(tmp_path):
    toml = 'workloads = ["autoenc", "matmul", "stream"]\nsize = "small"\ncores = [1, 2]\nlaunches = 3'
    folder = written(made(toml), tmp_path / "results")
    facts = json.loads(scaling("workloads", folder, "--json").stdout)["points"]
    assert [(point["workload"], point["cores"]) for point in facts] == [("autoenc", 1), ("autoenc", 2)]
    assert facts[0]["parameters"] == 815_824
    assert 0 < facts[0]["share_of_peak"] <= facts[0]["share_of_roof"]
    shown = scaling("workloads", folder)
    assert "ceilings on 2 cores: " in shown.stderr
    assert scaling("plot", folder, "roofline", "--format", "svg").stdout.split() == [f"{folder}/figures/roofline.svg"]
    usual = scaling("plot", folder, "--ceilings", folder, "--format", "svg")
    assert f"{folder}/figures/roofline.svg" in usual.stdout.split()


CEILINGS = SMALL.parent / "ceilings-sixteen"


@pytest.fixture
def autoenc_on_sixteen(tmp_path):
    """The profiles of one network on the machine whose ceilings are stored."""
    with open_part(SMALL.parent / "profiles-now-sixteen" / "traces.jsonl.xz") as lines:
        (tmp_path / "traces.jsonl").write_bytes(b"".join(line for line in lines if b'"workload":"autoenc"' in line))
    return tmp_path


def test_steps_on_another_machine_are_predicted_from_the_ceilings_of_both(autoenc_on_sixteen):
    """Here the other machine is the same one, so that only the noise of its own laws is left."""
    options = ("--predict", "16,32", "--on-machine", CEILINGS, "--ceilings", CEILINGS, "--measured", autoenc_on_sixteen)
    facts = json.loads(scaling("profile", autoenc_on_sixteen, *options, "--json").stdout)["analysis"]["other_machine"]
    assert [one["name"] for one in facts["predictions"]] == ["autoenc train", "autoenc infer"]
    by_ceilings = [one["by_ceilings"] for one in facts["predictions"]]
    assert all(abs(predicted["error"]) < 0.2 and predicted["inside"] for predicted in by_ceilings)
    assert facts["distance"] == 0
    assert ["for 32 cores (measured: 1, 2, 4, 8, 16)" in sentence for sentence in facts["refused"]] == [True, True]


def test_another_size_than_was_measured_there_is_refused(autoenc_on_sixteen, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "traces.jsonl"
    text = (autoenc_on_sixteen / "traces.jsonl").read_text()
    other.write_text(text.replace('"size":"published"', '"size":"small"'))
    options = ("--predict", "2", "--on-machine", CEILINGS, "--ceilings", CEILINGS, "--measured", other.parent)
    refusal = "it was profiled at size published with 128 items, but measured at size small with 128 items"
    assert refusal in scaling("profile", autoenc_on_sixteen, *options).stderr
