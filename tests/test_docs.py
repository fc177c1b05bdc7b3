"""What the documents show runs as it stands there."""

import re
from pathlib import Path

from tests.runs import rows_of

DOCS = Path(__file__).parent.parent / "docs"


def test_the_example_of_bringing_your_own_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "bring-your-own.md").read_text(), flags=re.DOTALL)
    (tmp_path / "mine.py").write_text(code)
    rows = rows_of(f"{tmp_path}/mine.py:build megabytes=2", cores="all")
    assert {row.outcome.status for row in rows} == {"ok"}
    assert {row.outcome.items_per_step for row in rows} == {2}
