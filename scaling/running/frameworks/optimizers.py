"""What the fused updates of TensorFlow and torch take from a Keras optimizer: its name and its hyper-parameters.

An optimizer that has more than these know is carried out by Keras itself.
"""

from typing import Any

NAMES = ("SGD", "RMSprop", "Adam")

# Settings of Keras optimizers that the kernels do not know.
NOT_FUSED = (
    *("weight_decay", "clipvalue", "use_ema", "amsgrad", "centered"),
    *("loss_scale_factor", "gradient_accumulation_steps"),
)


def hyper_parameters(optimizer: Any) -> tuple[str, dict[str, Any]] | None:
    """The name and the settings of an optimizer; None where there is no fused update for them."""
    name, config = type(optimizer).__name__, optimizer.get_config()
    constant = not isinstance(config.get("learning_rate"), dict)
    fused = name in NAMES and constant and not any(config.get(setting) for setting in NOT_FUSED)
    return (name, config) if fused else None
