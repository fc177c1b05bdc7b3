"""Modules of torch without Keras, and servers that fork with torch imported."""

import re
from pathlib import Path

import pytest

from tests.mentions import mentions
from tests.runs import row_of

DOCUMENT = Path(__file__).parents[4] / "docs" / "how-to" / "model.md"


@pytest.fixture
def example(tmp_path):
    """The module of the document."""
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), flags=re.DOTALL | re.MULTILINE)
    (code,) = (block for block in blocks if "import torch" in block)
    path = tmp_path / "mine.py"
    path.write_text(code)
    return f"{path}:build"


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize("mode", ["train", "infer"])
def test_the_module_of_the_document_learns_and_infers_without_keras(example, start, mode):
    row = row_of(f"{example} width=64", framework="torch", modes=mode, start=start, intra=1, inter=1, in_company=True)
    assert row.outcome.status == "ok", row.outcome.reason
    assert {"torch"} <= dict(row.versions).keys()
    assert "keras" not in dict(row.versions)
    assert (row.witness.intra_pool, row.witness.inter_pool) == (1, 1)
    if mode == "train":
        assert row.outcome.last_loss < row.outcome.first_loss


def test_a_module_of_torch_under_another_framework_says_what_to_name(example):
    row = row_of(example, in_company=True)
    assert mentions(row.outcome.reason, "TypeError: … framework = 'tensorflow';")


SERVER = "import torch\ntorch.set_num_threads(4)\ntorch.ones(1000000).add_(1.0)\n"


def test_a_server_whose_pool_has_started_refuses_to_fork(tmp_path, monkeypatch):
    from scaling.running import local

    (tmp_path / "planted.py").write_text(SERVER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(local, "modules_for", lambda text, framework: ("planted",))
    row = row_of("fcn", size="small", framework="torch", start="fork", in_company=True)
    assert "child would not have" in row.outcome.reason
