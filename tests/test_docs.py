"""What the documents show runs as it stands there."""

import re
from pathlib import Path

import pytest

from scaling.analysis.rules import RULES
from tests.runs import rows_of

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("start", ["spawn", "fork"])
@pytest.mark.parametrize(("example", "options", "items"), [(0, "width=64", 64), (1, "megabytes=2", 2)])
def test_an_example_of_bringing_your_own_runs_as_it_stands(tmp_path, example, options, items, start):
    code = re.findall(r"```python\n(.*?)```", (DOCS / "bring-your-own.md").read_text(), flags=re.DOTALL)[example]
    (tmp_path / "mine.py").write_text(code)
    rows = rows_of(f"{tmp_path}/mine.py:build {options}", cores="all", start=start, in_company=True)
    assert {row.outcome.reason for row in rows} == {None}
    assert {row.outcome.items_per_step for row in rows} == {items}
    assert {row.outcome.cautions for row in rows} == {()}


def test_the_method_names_every_rule_with_its_reason():
    method = (DOCS / "method.md").read_text()
    missing = [rule.name for rule in RULES if f"| {rule.name} |" not in method or rule.why not in method]
    assert not missing
