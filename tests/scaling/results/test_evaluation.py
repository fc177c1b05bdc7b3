from benchmarks.shared.machines import HOST, AmdahlMachine, machine, row, study
from scaling.reporting.points import evaluation_notes
from scaling.results.evaluation import evaluate
from scaling.results.machine_file import read_machine_file
from scaling.results.store import Folder, Store
from scaling.study.planning import plan
from tests.scaling.reporting.results import stolen


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
    (law,) = evaluation.fits
    assert law.serial_fraction.low < 0.1 < law.serial_fraction.high
    (landmarks,) = evaluation.limits
    assert landmarks.recommended in (7, 8)
    assert (evaluation.sizes.counts[-1], evaluation_notes(evaluation)) == (8, [])


def test_levels_of_smt_have_a_curve_each_and_landmarks_together(tmp_path):
    evaluation = evaluate(folder(swept('smt = "all"', smt=2), tmp_path, smt=2))
    assert [one.series.key.smt for one in evaluation.fits] == [1, 2]
    (limits,) = evaluation.limits
    assert limits.fit.levels == evaluation.fits


def test_points_left_out_and_series_not_fitted_are_said(tmp_path):
    rows = [stolen(row) if row.run.point.cores == 4 else row for row in swept("cores = [1, 2, 4]\nlaunches = 3")]
    notes = evaluation_notes(evaluate(folder(rows, tmp_path)))
    assert notes == ["fits leave out 1 of 3 points (1 disturbed; no quiet turn)"]
    single = evaluate(folder([stolen(row())], tmp_path))
    assert single.fits == ()
    assert "no usable point among 1 point (1 disturbed; no quiet turn)" in evaluation_notes(single)[0]
    assert len(evaluation_notes(evaluate(folder([row()], tmp_path)))) == 1
