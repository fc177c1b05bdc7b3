from dataclasses import replace

import pytest

from benchmarks.shared.devices import pretend_study
from benchmarks.shared.devices import rows as device_rows
from benchmarks.shared.machines import HOST, AmdahlMachine, machine, row, study
from scaling.analysis.series import series_key
from scaling.reporting.points import evaluation_notes
from scaling.results import evaluation as evaluation_module
from scaling.results.evaluation import SECTIONS, FirstSeries, Spread, evaluate, first_series, sections_of
from scaling.results.machine_file import read_machine_file
from scaling.results.rows import Sections, row_identity
from scaling.results.store import Folder, Store
from scaling.study.planning import Cohort, plan
from tests.scaling.reporting.results import stolen

ROWS = [*AmdahlMachine().execute(plan(study('items = [1, 2, 3]\ncores = "1-4"\nlaunches = 2'), machine(8)).runs)]
PARTS = Sections(spawn=1.0, imports=3.0, init=2.0, setup=4.0, first_step=1.0, run=8.0, main=16.0, wall=20.0)


def folder(rows, tmp_path, cores=8, smt=1):
    store = Store(tmp_path)
    store.write_machine(HOST, machine(cores, smt))
    store.close()
    return Folder("pretend", tuple(rows), None, read_machine_file(tmp_path), None)


def swept(toml="", smt=1):
    return AmdahlMachine(noise=0.01).execute(plan(study(toml), machine(8, smt)).runs)


def test_a_sweep_comes_to_points_laws_and_landmarks(tmp_path):
    evaluation = evaluate(folder(swept('cores = "doubling"'), tmp_path))
    assert [point.summary.point.cores for point in evaluation.points] == [1, 2, 4, 8]
    (landmarks,) = evaluation.limits
    assert landmarks.recommended in (7, 8)
    assert (evaluation.sizes.counts[-1], evaluation_notes(evaluation)) == (8, [])


def test_nineteen_of_twenty_intervals_contain_the_serial_fraction(tmp_path):
    """Within what chance does to twenty."""
    fitted = [evaluate(folder(swept(f'cores = "doubling"\nseed = {seed}'), tmp_path)).fits[0] for seed in range(20)]
    assert sum(one.serial_fraction.low < 0.1 < one.serial_fraction.high for one in fitted) in (17, 18, 19, 20)


def test_levels_of_smt_have_a_curve_each_and_landmarks_together(tmp_path):
    evaluation = evaluate(folder(swept('smt = "all"', smt=2), tmp_path, smt=2))
    assert [one.series.key.smt for one in evaluation.fits] == [1, 2]
    (limits,) = evaluation.limits
    assert limits.fit.levels == evaluation.fits


@pytest.mark.parametrize(("most", "kept"), [(4, 4), (3, 2), (2, 2), (1, 2)])
def test_the_first_series_have_all_their_levels_of_smt(tmp_path, most, kept):
    rows = swept("smt = [1, 2]\nitems = [1, 2]\ncores = [1, 2]\nlaunches = 1", smt=2)
    part = first_series(evaluate(folder(rows, tmp_path, smt=2)), most)
    assert len({series_key(point.summary.point) for point in part.points}) == len(part.fits) == kept


def test_points_left_out_and_series_not_fitted_are_said(tmp_path):
    rows = [stolen(row) if row.run.point.cores == 4 else row for row in swept("cores = [1, 2, 4]\nlaunches = 3")]
    notes = evaluation_notes(evaluate(folder(rows, tmp_path)))
    assert notes == ["fits leave out 1 of 3 points (1 disturbed; no quiet turn)"]
    single = evaluate(folder([stolen(row())], tmp_path))
    assert single.fits == ()
    assert "no usable point among 1 point (1 disturbed; no quiet turn)" in evaluation_notes(single)[0]
    assert len(evaluation_notes(evaluate(folder([row()], tmp_path)))) == 1


def test_a_subject_is_computed_once(tmp_path):
    calls = []
    evaluation = evaluate(folder(swept("cores = [1, 2]"), tmp_path))
    found = [evaluation.subject(calls.append) for _ in range(2)]
    assert (found, calls) == ([None, None], [evaluation.summaries])


@pytest.mark.parametrize(("most", "items"), [(9, {1, 2}), (8, {1, 2}), (7, {1}), (1, {1}), (12, {1, 2, 3})])
@pytest.mark.parametrize("rows", [ROWS, ROWS[::-1]])
def test_the_first_series_are_kept_whole_in_whatever_order_rows_come(monkeypatch, most, items, rows):
    monkeypatch.setattr(evaluation_module, "ROWS_BETWEEN_DROPS", 3)
    first = FirstSeries(most)
    kept = list(first.keep(rows))
    assert sorted(map(row_identity, kept)) == sorted(row_identity(row) for row in ROWS if row.run.point.items in items)
    assert bool(first.notes) is (len(items) < 3)


def test_the_note_says_how_many_series_and_points_there_are():
    first = FirstSeries(9)
    first.keep(ROWS)
    (note,) = first.notes
    assert note.startswith("this page has the first 2 of 3 series, 8 of 12 points; ")


def rows(toml="cores = [1, 2]\nlaunches = 2"):
    """Rows of a study whose second launches, and those on one core, take twice as long."""
    made = []
    for run in plan(study(toml), machine(2)).runs:
        factor = run.launch * (3 - run.point.cores)
        parts = {name: factor * getattr(PARTS, name) for name in Sections.__slots__}
        made.append(row(run, sections=Sections(**parts)))
    return [one for one in made if one.run.launch <= 2]


def test_sections_are_medians_over_launches_with_their_ends():
    one, two = sections_of(rows()).points
    assert (one.point.cores, two.point.cores, two.launches, two.steps) == (1, 2, 2, 3)
    assert tuple(two.seconds) == SECTIONS
    assert two.seconds["start"] == Spread(6.0, 4.0, 8.0)
    assert two.seconds["wall"] == Spread(30.0, 20.0, 40.0)
    assert one.seconds["run"] == Spread(24.0, 16.0, 32.0)


def test_sections_are_normalised_to_the_wall_time_on_the_most_cores():
    one, two = sections_of(rows()).points
    assert two.normalised["wall"].median == 1.0
    assert two.normalised["init"].median == pytest.approx(0.1)
    assert two.normalised["main"].median == pytest.approx(0.8)
    assert one.normalised["wall"].median == 2.0


def test_runs_that_were_forked_took_turns_or_failed_are_no_processes_of_their_own():
    first, second, third, fourth, *_ = rows()
    forked = replace(first, run=replace(first.run, start="fork"))
    in_turns = replace(second, run=replace(second.run, cohort=Cohort("a", 2)))
    failed = replace(third, outcome=replace(third.outcome, status="failed"))
    sections = sections_of([forked, in_turns, failed, fourth])
    assert (len(sections.points), sections.forked, sections.in_turns) == (1, 1, 1)
    assert sections_of([forked]).points == ()


def test_sections_on_a_gpu_are_over_the_wall_time_without_it():
    rows = [row for row in device_rows(pretend_study("sections")) if row.run.point.workload == "alexnet"]
    found = {(one.point.framework, one.point.device): one for one in sections_of(rows).points}
    on_cpu, on_gpu = found["jax", "cpu"], found["jax", "gpu"]
    assert on_cpu.normalised["wall"].median == pytest.approx(1.0)
    assert on_gpu.normalised["wall"].median == pytest.approx(
        on_gpu.seconds["wall"].median / on_cpu.seconds["wall"].median
    )
