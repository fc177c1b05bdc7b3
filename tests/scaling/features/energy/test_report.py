"""Energy in words: tables, sentences, JSON, the page, its figures, and rows that go through files."""

from dataclasses import replace

import pytest

from benchmarks.shared.machines import study
from benchmarks.shared.power import metered_rows
from scaling.analysis.summary import summarize
from scaling.features.energy.economy import cap_effects, cap_kinds
from scaling.features.energy.report import (
    energy_sentences,
)
from scaling.reporting.page.page import page
from scaling.results.evaluation import evaluate
from scaling.results.export import read_export, write_export
from scaling.results.rows import launch_of, row_from_json, row_to_json
from scaling.results.store import Store
from scaling.results.traces import MeterTrace, PowerTrace, read_power
from tests.mentions import mentions
from tests.scaling.reporting.plots.artists import nothing, panels, picture
from tests.scaling.reporting.results import assert_question, folder_of, result

SIZES = 'cores = "all"'
CAPS = 'workloads = ["calibrated", "stream"]\ncores = [4]\ncpu_power_watts = ["none", 45, 15]\n'


def rows(toml=SIZES):
    return metered_rows(study(toml, launches="5"))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"smt": 2}, "give … 4 cores × 2 threads to save energy: … time than 4 cores, the fastest"),
        ({"quota": 2.0}, "give … 4 cores, quota 2 to save energy: … time than 4 cores, the fastest"),
        ({"placement": "scatter"}, "give … 4 cores, scatter to save energy: … time than 4 cores, compact, the fastest"),
    ],
)
def test_sizes_with_as_many_cores_are_told_apart(setting, words):
    fast = [one for one in map(launch_of, rows()) if one.point.cores == 4]
    slow = [
        replace(
            one,
            point=replace(one.point, **setting),
            seconds=1.2 * one.seconds,
            energy=replace(one.energy, seconds=1.2 * one.energy.seconds, joules=0.6 * one.energy.joules),
        )
        for one in fast
    ]
    (sentence,) = energy_sentences(summarize([*fast, *slow]))
    assert mentions(sentence, words)


def test_energy_goes_through_lines_and_tables_unchanged(tmp_path):
    made = rows()[:3]
    assert [row_from_json(row_to_json(row)).energy for row in made] == [row.energy for row in made]
    write_export(made, "csv", tmp_path / "rows.csv")
    assert [row.energy for row in read_export(tmp_path / "rows.csv")] == [row.energy for row in made]


BOTH_KINDS = (
    'workloads = ["calibrated"]\ncores = [4]\ncpu_power_watts = ["none", 45, 30]\ncpu_max_mhz = ["none", 2400]\n'
)


def test_power_caps_are_set_against_clock_caps_of_the_same_workload():
    effects = cap_effects(summarize(map(launch_of, rows(BOTH_KINDS))))
    _, four_cores = cap_kinds(effects)
    assert [[effect.kind for effect in kind] for kind in (four_cores.power, four_cores.clock)] == [
        ["power", "power"],
        ["clock"],
    ]
    assert sum(effect.kind == "both" for effect in effects) == 4


def test_power_over_time_is_kept_beside_rows_and_drawn(tmp_path):
    made = rows(CAPS)
    store = Store(tmp_path)
    traces = [
        PowerTrace(row.run, row.started_at, (MeterTrace("package 0", "package", (0.0, 0.1, 5.0), (50.0, 51.0, 49.0)),))
        for row in made
    ]
    for trace in traces:
        store.append_power(trace)
    store.close()
    assert [(one.run.key, one.meters) for one in read_power(tmp_path)] == [(one.run.key, one.meters) for one in traces]
    folder = replace(folder_of(made, tmp_path, 8), power=tuple(read_power(tmp_path)))
    assert len(panels(picture(evaluate(folder), "power"))) == 4


def test_without_meters_there_is_nothing_to_draw(tmp_path):
    plain = result("cores = [1, 2]\nlaunches = 3", tmp_path, 2)
    for name in ("power", "caps"):
        assert nothing(plain, name)
    assert 'id="energy"' not in page(plain, [])


def test_its_question_is_the_study_s_own():
    assert_question("energy-gpu", "energy")
