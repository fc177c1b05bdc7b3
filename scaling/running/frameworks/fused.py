"""Keras optimizers as TensorFlow's fused kernels, with Keras's formulas; Keras itself executes all others."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from scaling.running.frameworks.base import hyper_parameters

Update = Callable[[Sequence[Any]], None]


def update_of(optimizer: Any, variables: Sequence[Any]) -> Update:
    """A function that updates Keras variables by their gradients."""
    known = hyper_parameters(optimizer)
    if known is None:
        optimizer.build(variables)
        return lambda gradients: optimizer.apply(gradients, variables)
    name, config = known
    kernel = KERNELS[name](config, [variable.value for variable in variables])
    return lambda gradients: kernel(_clip(gradients, config))


def _clip(gradients: Sequence[Any], config: dict[str, Any]) -> Sequence[Any]:
    if config.get("global_clipnorm"):
        return tf.clip_by_global_norm(list(gradients), config["global_clipnorm"])[0]  # type: ignore[no-any-return]
    if config.get("clipnorm"):
        return [tf.clip_by_norm(gradient, config["clipnorm"]) for gradient in gradients]
    return gradients


def _sgd(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    rate, momentum = config["learning_rate"], config["momentum"]
    if momentum:
        settings = {"lr": rate, "momentum": momentum, "use_nesterov": config["nesterov"]}
        return _apply(tf.raw_ops.ResourceApplyKerasMomentum, variables, ("accum",), settings)

    def kernel(gradients: Sequence[Any]) -> None:
        for variable, gradient in zip(variables, gradients, strict=True):
            if isinstance(gradient, tf.IndexedSlices):  # a few rows of a table, and only those change
                tf.raw_ops.ResourceScatterSub(
                    resource=variable.handle, indices=gradient.indices, updates=rate * gradient.values
                )
            else:
                tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=rate, delta=gradient)

    return kernel


def _rmsprop(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    settings = {"lr": config["learning_rate"], **{name: config[name] for name in ("rho", "momentum", "epsilon")}}
    return _apply(tf.raw_ops.ResourceApplyRMSProp, variables, ("ms", "mom"), settings)


def _adam(config: dict[str, Any], variables: Sequence[Any]) -> Update:
    rate, first, second = (config[name] for name in ("learning_rate", "beta_1", "beta_2"))
    powers = [tf.Variable(beta, trainable=False, dtype="float32") for beta in (first, second)]
    settings = {"lr": rate, "beta1": first, "beta2": second, "epsilon": config["epsilon"]}
    settings |= {"beta1_power": powers[0], "beta2_power": powers[1]}
    update = _apply(tf.raw_ops.ResourceApplyAdam, variables, ("m", "v"), settings)

    def kernel(gradients: Sequence[Any]) -> None:
        update(gradients)
        powers[0].assign(powers[0] * first)
        powers[1].assign(powers[1] * second)

    return kernel


def _apply(
    operation: Callable[..., Any], variables: Sequence[Any], slots: Sequence[str], settings: dict[str, Any]
) -> Update:
    """An update of every variable by one operation, with slots that start at zero."""
    state = [[tf.Variable(tf.zeros_like(variable), trainable=False) for variable in variables] for _ in slots]

    def kernel(gradients: Sequence[Any]) -> None:
        for variable, gradient, *own in zip(variables, gradients, *state, strict=True):
            handles = {name: slot.handle for name, slot in zip(slots, own, strict=True)}
            operation(var=variable.handle, grad=tf.convert_to_tensor(gradient), **handles, **settings)

    return kernel


KERNELS = {"SGD": _sgd, "RMSprop": _rmsprop, "Adam": _adam}
