"""Keras optimizers as torch's fused and foreach kernels, with Keras's formulas; Keras itself executes all others."""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import torch

from scaling.running.frameworks.base import hyper_parameters

Update = Callable[[], None]


def update_of(optimizer: Any, variables: Sequence[Any]) -> Update:
    """A function that updates Keras variables by their gradients and drops these."""
    parameters, known = [variable.value for variable in variables], hyper_parameters(optimizer)
    if known is None:
        optimizer.build(variables)

    def keras_update() -> None:
        optimizer.apply([variable.value.grad for variable in variables], variables)

    change = keras_update if known is None else _foreach_update(*known, parameters)

    def update() -> None:
        with torch.no_grad():
            change()
        for parameter in parameters:
            parameter.grad = None

    return update


def _foreach_update(name: str, config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    update = UPDATES[name](config, parameters)

    def clip_and_update() -> None:
        _clip([parameter.grad for parameter in parameters if parameter.grad is not None], config)
        update()

    return clip_and_update


def _clip(gradients: list[Any], config: dict[str, Any]) -> None:
    total, single = config.get("global_clipnorm"), config.get("clipnorm")
    if not total and not single:
        return
    norms = torch.stack(torch._foreach_norm(gradients))
    if total:
        norm = torch.linalg.vector_norm(norms)
        torch._foreach_mul_(gradients, total / torch.clamp(norm, min=total))
    else:
        torch._foreach_mul_(gradients, list((single / torch.clamp(norms, min=single)).unbind()))


def _sgd(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """With a constant learning rate, Keras's velocity is torch's buffer times minus the rate."""
    momentum, nesterov = config["momentum"], config["nesterov"]
    sgd = torch.optim.SGD(
        parameters, config["learning_rate"], momentum=momentum, nesterov=bool(nesterov and momentum), fused=True
    )
    return lambda: sgd.step(None)


def _rmsprop(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """Keras adds epsilon to the mean square, torch to its root, so torch's own RMSprop would learn differently."""
    rate, rho, momentum, epsilon = (config[name] for name in ("learning_rate", "rho", "momentum", "epsilon"))
    squares, moving = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))

    def update() -> None:
        gradients = [parameter.grad for parameter in parameters]
        torch._foreach_mul_(squares, rho)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - rho)
        roots = torch._foreach_add(squares, epsilon)
        torch._foreach_sqrt_(roots)
        if not momentum:
            torch._foreach_addcdiv_(parameters, gradients, roots, -rate)
            return
        torch._foreach_mul_(moving, momentum)
        torch._foreach_addcdiv_(moving, gradients, roots, rate)
        torch._foreach_sub_(parameters, moving)

    return update


def _adam(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """Keras adds epsilon before it corrects the second moment for its start at zero, torch after."""
    if parameters[0].is_cuda:
        return _adam_on_device(config, parameters)
    beta, epsilon = config["beta_2"], config["epsilon"]
    adam = torch.optim.Adam(parameters, config["learning_rate"], betas=(config["beta_1"], beta), fused=True)
    steps = 0

    def update() -> None:
        nonlocal steps
        steps += 1
        adam.param_groups[0]["eps"] = epsilon / sqrt(1 - beta**steps)
        adam.step()

    return update


def _adam_on_device(config: dict[str, Any], parameters: Sequence[Any]) -> Update:
    """Adam with its step count on the device, since a graph would repeat a number from the host unchanged.

    p = p - rate · sqrt(1 - beta_2^t) / (1 - beta_1^t) · m / (sqrt(v) + epsilon).
    """
    rate, first, second, epsilon = (config[name] for name in ("learning_rate", "beta_1", "beta_2", "epsilon"))
    means, squares = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    steps = torch.zeros((), dtype=torch.float64, device=parameters[0].device)

    def update() -> None:
        gradients = [parameter.grad for parameter in parameters]
        steps.add_(1)
        factor = -rate * torch.sqrt(1 - second**steps) / (1 - first**steps)
        torch._foreach_lerp_(means, gradients, 1 - first)
        torch._foreach_mul_(squares, second)
        torch._foreach_addcmul_(squares, gradients, gradients, 1 - second)
        roots = torch._foreach_sqrt(squares)
        torch._foreach_add_(roots, epsilon)
        changes = torch._foreach_div(means, roots)
        torch._foreach_mul_(changes, factor.to(parameters[0].dtype))
        torch._foreach_add_(parameters, changes)

    return update


UPDATES = {"SGD": _sgd, "RMSprop": _rmsprop, "Adam": _adam}
