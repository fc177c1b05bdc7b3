from benchmarks.killed import kill_and_resume


def test_a_sweep_killed_at_random_moments_loses_nothing_and_measures_nothing_twice(tmp_path):
    tally = kill_and_resume(rounds=8, seed=3, folder=tmp_path)
    assert tally.problems == []
    assert set(tally.kills) == {"parent", "child", "both"}
