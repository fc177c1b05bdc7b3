from dataclasses import replace

import pytest

from benchmarks.shared.machines import AmdahlMachine, machine, study
from scaling.analysis import rules
from scaling.analysis.curves.fit import fit
from scaling.analysis.rules import Doubt
from scaling.analysis.series import (
    Observation,
    Series,
    SeriesKey,
    selected_series,
    series_key,
    series_of,
    table_key,
    table_launches,
)
from scaling.analysis.summary import select_points, summarize
from scaling.errors import FitError
from scaling.results.rows import launch_of
from scaling.study.planning import plan


def launches(toml="", cores=4, smt=1, **keys):
    made = AmdahlMachine(noise=1e-6).execute(plan(study(toml, **keys), machine(cores, smt)).runs)
    return list(map(launch_of, made))


def test_a_series_is_everything_of_a_point_but_its_cores():
    (series,) = series_of(launches('cores = "doubling"\nlaunches = 2'))
    assert series.name == "calibrated train compact smt1"
    assert series.cores == (1.0, 2.0, 4.0)
    assert series.launches == (3, 2, 2)  # one core was measured once more at the end


def test_what_steps_are_fed_with_is_in_the_names_of_series_where_it_varies():
    fed = 'workloads = "autoenc"\ncores = [2]\ndata = ["fixed", "pipeline"]\npipeline_threads = [1, 2]'
    assert {series.name for series in series_of(launches(fed))} == {
        "autoenc train compact data=fixed smt1",
        "autoenc train compact data=pipeline pipeline_threads=1 smt1",
        "autoenc train compact data=pipeline pipeline_threads=2 smt1",
    }
    assert [series.label for series in series_of(launches('workloads = "autoenc"\ndata = "pipeline"'))] == [
        "autoenc train"
    ]


def test_frameworks_devices_and_data_speak_for_themselves_in_a_label():
    several = 'workloads = "autoenc"\nframework = ["torch", "jax"]\ndata = ["fixed", "pipeline"]\ncores = [2]'
    assert {series.label for series in series_of(launches(several))} == {
        "autoenc train torch fixed",
        "autoenc train torch pipeline",
        "autoenc train jax fixed",
        "autoenc train jax pipeline",
    }
    assert {series.label for series in series_of(launches('framework = ["torch", "jax"]\njit = [true, false]'))} >= {
        "calibrated train jax jit=True"
    }


def test_a_value_knows_the_block_it_was_made_in():
    one, two = series_of(launches("cores = [2]\nlaunches = 2"))[0].observations
    assert (one.blocks, two.blocks) == (("1", "2", "3"), ("1", "2"))
    together = [replace(launch, cohort=f"cohort {launch.number}") for launch in launches("cores = [2]\nlaunches = 1")]
    assert series_of(together)[0].observations[1].blocks == ("cohort 1",)


def test_what_varies_is_in_the_name():
    all_series = series_of(launches('cores = [2]\nlaunches = 1\nitems = [1, 2]\nplacements = ["scatter", "cpus:0-3"]'))
    assert sorted(series.name for series in all_series) == [
        "calibrated train cpus:0-3 items=1 smt1",
        "calibrated train cpus:0-3 items=2 smt1",
        "calibrated train scatter items=1 smt1",
        "calibrated train scatter items=2 smt1",
    ]


def test_a_point_has_the_key_of_its_series():
    measured = launches('cores = [1, 2]\nlaunches = 1\nitems = [1, 2]\nsmt = "all"', 4, 2)
    keys = {series_key(launch.point) for launch in measured}
    assert keys == {series.key for series in series_of(measured)}


def test_a_program_whose_arguments_end_like_a_level_is_one_series():
    made = launches('cores = "doubling"\nlaunches = 1', 4, 2)
    odd = [replace(launch, point=replace(launch.point, workload="command:prog smt1-2")) for launch in made]
    (only,) = series_of(odd)
    assert only.label == "command:prog smt1-2 train"


def test_a_label_leaves_out_the_usual_placement_and_one_thread_per_core():
    all_series = series_of(launches('cores = [2]\nlaunches = 1\nplacements = ["compact", "cpus:0-3"]'))
    assert {series.label for series in all_series} == {"calibrated train", "calibrated train cpus:0-3 smt1"}


def test_a_series_of_a_node_type_is_named_after_both():
    (series,) = series_of(launches("cores = [2]\nlaunches = 1"))
    large = series.on_node_type("large")
    assert (large.name, large.label) == ("large: calibrated train compact smt1", "large: calibrated train")
    assert (large.own_name, large.key.node_type) == (series.own_name, "large")
    assert large.key == SeriesKey(series.key.settings, 1, node_type="large")


def test_every_number_of_threads_per_core_is_a_series_over_cores():
    levels = series_of(launches('cores = "doubling"\nlaunches = 1\nsmt = "all"', 4, 2))
    assert [(one.name, one.key.smt, one.cores) for one in levels] == [
        (f"calibrated train compact smt{threads}", threads, (1.0, 2.0, 4.0)) for threads in (1, 2)
    ]
    assert {one.key.settings for one in levels} == {levels[0].key.settings}
    assert {one.sizing_label for one in levels} == {"calibrated train"}


def test_all_levels_have_the_time_of_the_same_work_whichever_counts_are_missing():
    made = launches('cores = "doubling"\nscale = "weak"\nlaunches = 1\nsmt = "all"', 4, 2)
    weak = (replace(launch, items=3 * launch.point.cores) for launch in made)
    both = series_of(launch for launch in weak if (launch.point.cores, launch.point.smt) != (1, 2))
    assert [(one.cores, one.work) for one in both] == [((1.0, 2.0, 4.0), 3.0), ((2.0, 4.0), 3.0)]


def test_time_is_for_the_items_of_one_core_under_weak_scaling():
    weak = [
        replace(launch, items=3 * launch.point.cores)
        for launch in launches('cores = [2]\nlaunches = 1\nscale = "weak"')
    ]
    (series,) = series_of(weak)
    assert series.work == 3.0
    one, two = (observation.launch_seconds[0] for observation in series.observations)
    assert (one, two) == pytest.approx((1.0, 1 / 1.9), rel=1e-4)


def test_a_run_that_failed_is_no_launch():
    good = sorted(launches("cores = [2]\nlaunches = 1"), key=lambda launch: (launch.point.cores, launch.number))
    failed = replace(good[0], seconds=None, reason="no")
    assert series_of([failed, *good[1:]])[0].launches == (1, 1)
    assert series_of([failed]) == []


def test_only_valid_points_are_trusted_and_of_them_only_what_was_not_left_out():
    made = launches('cores = "doubling"\nlaunches = 5')
    load = Doubt(rules.FOREIGN_LOAD, 0.3)
    disturbed = [
        replace(launch, doubts=(load,)) if launch.number == 1 or launch.point.cores == 2 else launch for launch in made
    ]
    (series,) = series_of(select_points(summarize(disturbed)).launches)
    assert (series.cores, series.launches) == ((1.0, 4.0), (5, 4))


def test_a_series_with_one_valid_count_says_which_others_were_left_out_and_why():
    load = Doubt(rules.FOREIGN_LOAD, 0.3)
    made = [
        replace(launch, doubts=() if launch.point.cores == 1 else (load,))
        for launch in launches('cores = "doubling"\nlaunches = 5')
    ]
    selection = select_points(summarize(made))
    (series,) = selected_series(selection)
    with pytest.raises(FitError) as refused:
        fit(series)
    assert "(1); 2 points" in str(refused.value)
    assert "(2, 4 cores: foreign load)" in str(refused.value)


def test_a_clock_counts_only_where_every_launch_has_one():
    made = launches("cores = [2]\nlaunches = 1")
    clocked = [replace(launch, mhz=3000.0 / launch.point.cores) for launch in made]
    (series,) = series_of(clocked)
    assert [observation.mhz for observation in series.observations] == [3000.0, 1500.0]
    (series,) = series_of([*clocked[:-1], made[-1]])
    assert None in [observation.mhz for observation in series.observations]


def test_a_series_has_the_turns_of_its_points_on_this_host_disturbed_ones_included():
    made = launches("cores = [1, 2, 4]\nlaunches = 4")
    steal = Doubt(rules.STEAL, 0.5)
    busy = [replace(one, doubts=(steal,)) if one.point.cores == 4 else one for one in made]
    (series,) = selected_series(select_points(summarize(busy)))
    assert series.cores == (1.0, 2.0)
    assert [(one.cores, len(one.ratios)) for one in series.host] == [(1.0, 5), (2.0, 4), (4.0, 4)]


def test_turns_of_second_threads_are_by_cores_too():
    made = launches('cores = "doubling"\nlaunches = 1\nsmt = "all"', 4, 2)
    for series in selected_series(select_points(summarize(made))):
        assert [one.cores for one in series.host] == [1.0, 2.0, 4.0]


def test_a_point_of_another_tools_file_has_whole_cores():
    series = Series("mine", (Observation(1.5, (1.0,)),), key=table_key("mine"))
    with pytest.raises(FitError, match=r"has 1\.5 cores"):
        list(table_launches([series]))


def test_the_launches_of_another_tools_file_are_of_the_series_it_is_fitted_as():
    series = Series("mine", (Observation(2.0, (1.0, 1.1)),), "runs", key=table_key("mine"))
    first, second = table_launches([series])
    assert [(one.number, one.seconds, one.witnessed) for one in (first, second)] == [(1, 1.0, False), (2, 1.1, False)]
    assert series_key(first.point) == series_key(second.point) == series.key
