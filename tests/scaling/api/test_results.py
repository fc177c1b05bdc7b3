from math import inf

import pytest

import scaling
from tests.scaling.reporting.results import made, written


@pytest.fixture
def folder(tmp_path):
    return written(made("cores = [1, 2, 4, 8]\nlaunches = 4"), tmp_path / "results")


def csv(path, serial=0.1):
    lines = [f"{n},{(serial + (1 - serial) / n) * noise}" for n in (1, 2, 4, 8) for noise in (0.99, 1.0, 1.01)]
    path.write_text("\n".join(["cores,seconds", *lines]))
    return path


def test_a_folder_has_rows_points_and_fits(folder):
    results = scaling.load(folder)
    assert len(results.rows) == len(results.sources[0].evaluation.folder.rows)
    assert list(results.points["cores"]) == [1, 2, 4, 8]
    assert set(results.points["verdict"]) == {"ok"}
    (name,) = results.fits
    fraction = results.fits[name[:4]].serial_fraction
    assert isinstance(fraction, scaling.Estimate)
    assert fraction.low < fraction.value < fraction.high


def test_points_have_what_their_efficiency_is_lost_to(folder):
    points = scaling.load(folder).points_full
    lost = points["idle"] + points["computation"]
    assert list(lost) == pytest.approx(list(1 - points["efficiency"]))
    assert all(points["idle_low"] <= points["idle"])
    assert points["clock_scaling"].isna().all()


def test_a_table_has_fits_and_points_of_its_own(tmp_path):
    results = scaling.load(csv(tmp_path / "times.csv"))
    assert results.fits["times"].serial_fraction.value == pytest.approx(0.1, abs=0.01)
    assert list(results.points["launches"]) == [3, 3, 3, 3]
    assert list(results.points["speedup"]) == [point.speedup.value for point in results.sources[0].points]
    joined = results.points.merge(results.fits.to_frame(), on=["series", "smt"])
    assert list(joined[["cores", "verdict", "law"]].itertuples(index=False, name=None)) == [
        (cores, "ok", "amdahl") for cores in (1, 2, 4, 8)
    ]


def test_counts_that_are_not_whole_have_times_only(tmp_path):
    (tmp_path / "t.csv").write_text("cores,seconds\n0.5,4\n0.5,4.1\n1,2\n")
    points = scaling.load(tmp_path / "t.csv").points
    assert list(points) == ["series", "cores", "step_seconds", "launches"]
    assert list(points["cores"]) == [0.5, 1.0]


def test_a_series_is_found_by_a_prefix_that_only_it_has(folder):
    with pytest.raises(KeyError, match="0 series begin with 'vgg'"):
        scaling.load(folder).fits["vgg"]


def test_an_export_is_loaded_like_the_folder_it_came_from(folder, tmp_path):
    results = scaling.load(folder)
    assert results.export(tmp_path / "rows.csv") == len(results.rows)
    again = scaling.load(tmp_path / "rows.csv")
    assert list(again.points["speedup"]) == pytest.approx(list(results.points["speedup"]))
    assert list(again.fits) == list(results.fits)


def test_a_question_is_answered_for_every_series(folder):
    results = scaling.load(folder)
    answers = results.capacity(efficiency=0.5)
    assert [answer.status for answer in answers] == list(answers.to_frame()["status"])
    assert len(repr(answers)) < 3000
    assert list(results.limits().to_frame()["recommended_cores"]) == [one.recommended for one in results.limits()]
    with pytest.raises(TypeError, match="throughput, latency"):
        results.capacity()


def test_questions_are_refused_by_the_name_of_their_parameter(folder):
    with pytest.raises(scaling.errors.FitError, match="hourly_budget is -3"):
        scaling.load(folder).capacity(hourly_budget=-3)


def test_a_figure_without_data_says_why(folder):
    results = scaling.load(folder)
    assert results.plot("efficiency").get_axes()
    reason = results.plot("smt")
    assert (reason.get_axes(), len(reason.texts)) == ([], 1)


def test_a_figure_is_a_picture_of_its_own_in_a_notebook(folder):
    png, size = scaling.load(folder).plot("efficiency")._repr_png_()
    assert (png[1:4], size["width"] > 0) == (b"PNG", True)


def test_frames_join_by_their_series(folder):
    results = scaling.load(folder)
    points, fits, sizes = results.points, results.fits.to_frame(), results.capacity(efficiency=0.5).to_frame()
    assert len(points.merge(fits, on=["series", "smt"])) == len(points)
    frames = (points, sizes, results.limits().to_frame(), results.rows)
    assert len({frozenset(frame["series"]) for frame in frames}) == 1
    assert points.shape[1] < 16 < results.points_full.shape[1]


def test_what_is_no_network_has_no_framework(folder):
    results = scaling.load(folder)
    others = ~results.points_full["workload"].str.startswith(("vgg", "autoenc"))
    assert results.points_full[others][["mode", "framework", "jit"]].isna().all(axis=None)


@pytest.mark.needs("pandas")
def test_values_are_short_in_a_terminal_and_tables_in_a_notebook(folder):
    results = scaling.load(folder)
    fit = next(iter(results.fits.values()))
    values = [results, results.fits, fit, results.capacity(efficiency=0.5), results.limits(), results.compare(results)]
    for value in values:
        assert len(repr(value)) < 5000
        html = value._repr_html_()
        assert "<table" in html
        assert "<img" in html
    inner = [results.capacity(efficiency=0.5)[0], results.limits()[0], results.compare(results).differences[0]]
    assert max(len(repr(value)) for value in inner) < 5000


def test_nothing_is_raised_where_there_is_no_answer(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "rows.jsonl").touch()
    results = scaling.load(empty)
    assert (len(results.fits), len(results.limits()), len(results.capacity(cheapest=True))) == (0, 0, 0)
    assert all(one.notes for one in (results.fits, results.limits(), results.capacity(cheapest=True)))
    assert (len(results.points), len(results.rows), len(results.sections)) == (0, 0, 0)
    assert list(results.points.merge(results.fits.to_frame(), on=["series", "smt"])["law"]) == []
    assert "no answer yet" in results._repr_html_()
    assert results.compare(results, margin=0.05).gate == "no-answer"


def test_points_are_chosen_by_their_settings_and_keep_their_baseline(folder):
    results = scaling.load(folder)
    chosen = results.where("cores>=2")
    assert set(chosen.points["cores"]) == set(results.points["cores"]) - {1}
    assert chosen.points["speedup"].tolist() == results.points.query("cores >= 2")["speedup"].tolist()
    assert set(chosen.rows["cores"]) == set(chosen.points["cores"])
    with pytest.raises(scaling.errors.StoreError, match="`where=` matches none of "):
        _ = results.where("workload=nothing").points


def test_points_of_a_table_keep_their_baseline_too(tmp_path):
    results = scaling.load(csv(tmp_path / "times.csv"))
    chosen = results.where("cores>=4")
    assert [point.speedup for point in chosen.sources[0].points] == [p.speedup for p in results.sources[0].points[2:]]
    assert (chosen.fits["times"].measured, set(chosen.rows["cores"])) == ((4, 8), {4, 8})
    with pytest.raises(scaling.errors.StoreError, match=r"`where=` matches none of 4 points .* are times"):
        _ = chosen.where("cores=3").fits


def test_threads_that_share_cores_are_left_out_everywhere(folder, tmp_path):
    results = scaling.load(csv(tmp_path / "times.csv"), physical=4)
    assert results.fits["times"].measured == (1, 2, 4)
    assert max(results.points["cores"]) == max(results.rows["cores"]) == 4
    assert results.answers[0].size.cores == results.limits()[0].recommended == 4
    assert max(point.cores for point in results.sources[0].evaluation.fits[0].series.observations) == 4
    with pytest.raises(scaling.errors.StoreError, match="has core counts; leave out `physical=`"):
        scaling.load(folder, physical=4)


def test_results_are_compared(folder):
    results = scaling.load(folder)
    assert not any(one.differs for one in results.compare(results).differences)


def test_a_program_without_a_serial_part_has_no_limit(tmp_path):
    fit = scaling.load(csv(tmp_path / "times.csv", serial=0.0)).fits["times"]
    assert fit.limit.high == inf
    assert fit.curve["cores"].tolist() == list(range(1, int(2 * fit.measured[-1]) + 1))
