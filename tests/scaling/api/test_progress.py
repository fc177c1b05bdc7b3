import sys
from types import SimpleNamespace

from benchmarks.shared.machines import row
from scaling.api.progress import Monitor, NotebookProgress, Progress, budget_sentence, watcher


class Schedule:
    completed, total, pending = 1, 4, ()

    def remaining_seconds(self):
        return 60.0


def test_a_notebook_has_a_bar_that_is_drawn_in_its_place(monkeypatch):
    drawn = []
    handle = SimpleNamespace(update=lambda bundle, raw: drawn.append(bundle))
    display = SimpleNamespace(display=lambda bundle, raw, display_id: drawn.append(bundle) or handle)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display, get_ipython=lambda: shell))
    watching = watcher(None)
    assert isinstance(watching, NotebookProgress)
    watching.start(Schedule())
    watching.row(row())
    assert ["1 of 4 runs" in one["text/plain"] for one in drawn] == [True, True]
    assert all('value="1" max="4"' in one["text/html"] for one in drawn)


def test_elsewhere_progress_is_text_unless_somebody_else_watches(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert type(watcher(None)) is Progress
    assert type(watcher(None, progress=False)) is Monitor
    rows = []
    watcher(rows.append).row(row())
    assert len(rows) == 1


def test_a_spent_budget_is_told_in_good_grammar():
    said = [budget_sentence(3, "point", widths, 0.01) for widths in ([None], [0.001, None], [0.001])]
    assert said == [
        "3 runs; the budget is used up: 0 of 1 point is known to within ± 1 %",
        "3 runs; the budget is used up: 1 of 2 points are known to within ± 1 %",
        "3 runs; every point is known to within ± 1 %",
    ]
