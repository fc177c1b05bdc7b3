"""What a user's file may offer: each becomes a workload, or gets a sentence that says what to return."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from scaling.running.own_workloads import OwnWorkloadError, own_workload
from scaling.workloads.base import Network, Setting

SETTING = Setting("train", "small", None, 1, 2, 1, 3, 0, 1)


def made(offered, setting=SETTING, **options):
    return own_workload("mine.py:it", offered, setting, options)


def test_a_function_of_no_arguments_is_a_step():
    calls = []

    def step():
        calls.append(1)
        return 42

    workload = made(step)
    workload.prepare()
    assert (workload.step(), workload.items_per_step, len(calls)) == (None, 1, 2)


def test_an_option_may_be_the_threads_of_the_run():
    threads = []
    made(lambda workers=1: threads.append(workers), workers="{threads}").step()
    assert threads == [3, 3]


def test_a_function_that_a_factory_returns_is_a_step():
    made(lambda setting: lambda: setting.cores).step()
    made(lambda: lambda: None).step()


class Stepping:
    taken = 0

    def step(self):
        self.taken += 1


@pytest.mark.parametrize("offered", [Stepping, lambda setting: Stepping(), Stepping()])
def test_an_object_needs_no_more_than_steps(offered):
    workload = made(offered)
    workload.prepare()
    workload.step()
    assert (workload.items_per_step, workload.taken) == (1, 1)


def test_an_object_that_has_everything_is_taken_as_it_is():
    class Whole(Stepping):
        items_per_step = 7

        def prepare(self):
            pass

    assert isinstance(made(Whole), Whole)


class Model:
    compiled = True
    optimizer = "its own"

    def compute_loss(self, y, y_pred):
        return y, y_pred


@pytest.fixture
def keras(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(Model=Model))


@pytest.mark.usefixtures("keras")
def test_a_compiled_model_with_a_batch_is_a_network():
    batch = (np.zeros((3, 2)), np.ones(3))
    network = made(lambda setting: (Model(), batch))
    assert isinstance(network, Network)
    assert (network.optimizer, network.items_per_step, network.data()) == ("its own", 3, batch)
    assert network.loss("outputs", "targets") == ("targets", "outputs")
    nested = made(lambda setting: (Model(), ({"left": np.zeros((2, 5))}, np.zeros(2))))
    assert nested.items_per_step == 2


class Uncompiled(Model):
    compiled = False


@pytest.mark.usefixtures("keras")
@pytest.mark.parametrize(
    ("offered", "sentence"),
    [
        (lambda setting: None, "returned None.*return a function"),
        (lambda setting: 42, r"value of type int.*return"),
        (42, r"value of type int.*return"),
        (lambda setting: Model(), "model without a batch"),
        (lambda setting: (Model(), [1, 2, 3]), "one batch"),
        (lambda setting: (Uncompiled(), ([1], [2])), "call its `compile`.*modes = 'infer'"),
    ],
)
def test_what_cannot_be_measured_is_told_what_to_return(offered, sentence):
    with pytest.raises(OwnWorkloadError, match=sentence):
        made(offered)


@pytest.mark.usefixtures("keras")
def test_a_model_that_is_not_compiled_infers():
    assert isinstance(
        made(lambda setting: (Uncompiled(), (np.zeros(1), np.zeros(1))), SETTING._replace(mode="infer")), Network
    )
