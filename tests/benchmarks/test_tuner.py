from tests.benchmarks.test_commands import give


def test_the_smallest_run_prints_its_table(monkeypatch, capsys):
    give(monkeypatch, "tuner", ["--trials", "1", "--host", "quiet", "--only", "tune"])
    assert "| tune |" in capsys.readouterr().out
