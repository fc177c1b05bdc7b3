"""torch's updates against the optimizers they stand for, which Keras carries out here with TensorFlow."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

from scaling.running.frameworks import torch as framework
from scaling.running.frameworks.torch import update_of
from tests.scaling.running.frameworks.test_tensorflow import GRADIENTS, OPTIMIZERS, START

MORE = {
    "rmsprop with momentum": lambda: keras.optimizers.RMSprop(0.01, rho=0.95, momentum=0.9, epsilon=0.01),
    "adam of small gradients": lambda: keras.optimizers.Adam(0.01, epsilon=0.1),
}


@pytest.mark.parametrize("name", [*OPTIMIZERS, *MORE])
def test_an_update_of_torch_is_the_optimizers_own(name):
    optimizer = (OPTIMIZERS | MORE)[name]()
    expected = [keras.Variable(start) for start in START]
    optimizer.build(expected)
    parameters = [torch.nn.Parameter(torch.tensor(start)) for start in START]
    update = update_of(optimizer, [SimpleNamespace(value=parameter) for parameter in parameters])
    for gradients in GRADIENTS:
        optimizer.apply([tf.constant(gradient) for gradient in gradients], expected)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = torch.tensor(gradient)
        update()
    for one, other in zip(parameters, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.numpy(), rtol=2e-5, atol=1e-6)
    assert all(parameter.grad is None for parameter in parameters)


def test_the_update_that_a_graph_repeats_is_the_optimizers_own_too(monkeypatch):
    monkeypatch.setitem(framework.UPDATES, "Adam", framework._adam_on_device)
    for name in ("adam", "adam of small gradients"):
        test_an_update_of_torch_is_the_optimizers_own(name)
