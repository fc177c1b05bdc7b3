"""A point has a value on every axis, whose object says what the value does."""

from dataclasses import fields, replace

import pytest

from benchmarks.shared.machines import first_run
from scaling.study.axes import AXES, CONTROLS, SETTINGS, Axis, axis_variables, settings_words, thread_variables
from scaling.study.keys import keys_of
from scaling.study.spec import OF_FRAMEWORKS, Study, controlled_values, study_from_toml

POINT = first_run().point


@pytest.fixture
def with_a_switch(monkeypatch):
    """A machine on which the clock cap is a switch."""
    monkeypatch.setitem(SETTINGS, "cpu_max_mhz", Axis(None, {True: "switch", False: "no switch"}, values=""))


@pytest.mark.usefixtures("with_a_switch")
@pytest.mark.parametrize(("value", "words"), [(False, ["no switch"]), (True, ["switch"]), (None, [])])
def test_off_is_a_value_of_a_control_and_none_is_not(value, words):
    point = replace(POINT, cpu_max_mhz=value)
    assert point.controls == (() if value is None else (("cpu_max_mhz", value),))
    assert point.without_controls == POINT
    assert settings_words(point, CONTROLS) == words


def test_the_machine_is_held_for_the_values_of_a_study_alone():
    none = 'workloads = "calibrated"\ncpu_max_mhz = "none"'
    some = 'workloads = "calibrated"\ncpu_max_mhz = ["none", 2400, 2000]'
    assert controlled_values(study_from_toml(none, "study.toml")) == {}
    assert controlled_values(study_from_toml(some, "study.toml")) == {"cpu_max_mhz": [2400.0, 2000.0]}


def test_every_axis_is_a_key_of_a_study_with_the_same_words():
    words = {key.words for key in keys_of(Study).values() if key.axis}
    assert {axis.values for axis in AXES.values()} <= words


def test_a_control_is_an_axis_that_a_point_may_lack():
    without = {one.name: one.default for one in fields(POINT)}
    assert {without[name] for name in CONTROLS} == {None}


def test_a_value_sets_variables_and_threads():
    assert axis_variables(POINT) == {"KERAS_BACKEND": "tensorflow"}
    assert axis_variables(replace(POINT, onednn=False))["TF_ENABLE_ONEDNN_OPTS"] == "0"
    assert thread_variables(POINT) == {}
    pools = thread_variables(replace(POINT, cores=4, intra="cores", inter=2))
    assert (pools["OMP_NUM_THREADS"], pools["TF_NUM_INTEROP_THREADS"]) == ("4", "2")


def test_keys_of_networks_are_known_from_their_axes():
    usual = {"framework": ("tensorflow",), "device": ("cpu",), "jit": (False,), "onednn": ("auto",)}
    assert usual == OF_FRAMEWORKS
