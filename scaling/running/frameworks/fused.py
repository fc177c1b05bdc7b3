"""Keras optimizers carried out by TensorFlow's fused kernels: one operation per variable, where Keras writes a dozen.

Those without such a kernel (AdamW, schedules of the learning rate) are carried out by Keras. Hyper-parameters are
the Keras optimizer's own; the formulas are the same, which a test holds.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from scaling.running.frameworks.optimizers import hyper_parameters

Update = Callable[[Sequence[Any]], None]


def update_of(optimizer: Any, variables: Sequence[Any]) -> Update:
    """A function that takes gradients and changes the variables of Keras by them."""
    known = hyper_parameters(optimizer)
    if known is None:
        optimizer.build(variables)
        return lambda gradients: optimizer.apply(gradients, variables)
    return fused_update(*known, [variable.value for variable in variables])


def fused_update(name: str, config: dict[str, Any], variables: Sequence[Any]) -> Update:
    """The same by the kernels of TensorFlow, of its own variables."""
    kernel = KERNELS[name](config, variables)

    def update(gradients: Sequence[Any]) -> None:
        kernel(_clip(gradients, config))

    return update


def _clip(gradients: Sequence[Any], config: dict[str, Any]) -> Sequence[Any]:
    if config.get("global_clipnorm"):
        return tf.clip_by_global_norm(list(gradients), config["global_clipnorm"])[0]  # type: ignore[no-any-return]
    if config.get("clipnorm"):
        return [tf.clip_by_norm(gradient, config["clipnorm"]) for gradient in gradients]
    return gradients


def _slots(variables: Sequence[Any]) -> list[Any]:
    return [tf.Variable(tf.zeros_like(variable), trainable=False) for variable in variables]


def _sgd(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    rate, momentum = config["learning_rate"], config["momentum"]
    if not momentum:
        return _plain_sgd(rate, variables)
    moving = _slots(variables)

    def kernel(gradients: Sequence[Any]) -> None:
        for variable, slot, gradient in zip(variables, moving, gradients, strict=True):
            tf.raw_ops.ResourceApplyKerasMomentum(
                var=variable.handle,
                accum=slot.handle,
                lr=rate,
                grad=tf.convert_to_tensor(gradient),
                momentum=momentum,
                use_nesterov=config["nesterov"],
            )

    return kernel


def _plain_sgd(rate: float, variables: Sequence[Any]) -> Update:
    def kernel(gradients: Sequence[Any]) -> None:
        for variable, gradient in zip(variables, gradients, strict=True):
            _descend(variable, gradient, rate)

    return kernel


def _descend(variable: Any, gradient: Any, rate: float) -> None:
    """One step down; a gradient of a few rows of a table touches those rows only."""
    if isinstance(gradient, tf.IndexedSlices):
        tf.raw_ops.ResourceScatterSub(
            resource=variable.handle, indices=gradient.indices, updates=rate * gradient.values
        )
    else:
        tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)


def _rmsprop(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    squares, moving = _slots(variables), _slots(variables)

    def kernel(gradients: Sequence[Any]) -> None:
        for variable, square, slot, gradient in zip(variables, squares, moving, gradients, strict=True):
            tf.raw_ops.ResourceApplyRMSProp(
                var=variable.handle,
                ms=square.handle,
                mom=slot.handle,
                lr=config["learning_rate"],
                rho=config["rho"],
                momentum=config["momentum"],
                epsilon=config["epsilon"],
                grad=tf.convert_to_tensor(gradient),
            )

    return kernel


def _adam(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    means, squares = _slots(variables), _slots(variables)
    powers = [tf.Variable(config[name], trainable=False, dtype="float32") for name in ("beta_1", "beta_2")]

    def kernel(gradients: Sequence[Any]) -> None:
        for variable, mean, square, gradient in zip(variables, means, squares, gradients, strict=True):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=mean.handle,
                v=square.handle,
                beta1_power=powers[0],
                beta2_power=powers[1],
                lr=config["learning_rate"],
                beta1=config["beta_1"],
                beta2=config["beta_2"],
                epsilon=config["epsilon"],
                grad=tf.convert_to_tensor(gradient),
            )
        powers[0].assign(powers[0] * config["beta_1"])
        powers[1].assign(powers[1] * config["beta_2"])

    return kernel


KERNELS = {"SGD": _sgd, "RMSprop": _rmsprop, "Adam": _adam}
