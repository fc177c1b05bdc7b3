"""What the updates of TensorFlow and torch take from a Keras optimizer: its name and its hyper-parameters, no more."""

from typing import Any

NAMES = ("SGD", "RMSprop", "Adam")

# Settings of Keras optimizers that the kernels do not know; leaving them out in silence would train something else.
NOT_FUSED = (
    *("weight_decay", "clipvalue", "use_ema", "amsgrad", "centered"),
    *("loss_scale_factor", "gradient_accumulation_steps"),
)


def hyper_parameters(optimizer: Any) -> tuple[str, dict[str, Any]]:
    """The name and the settings of an optimizer, refused where there is no fused update for them."""
    name = type(optimizer).__name__
    if name not in NAMES:
        raise ValueError(f"no fused update for the optimizer {name}; there are {', '.join(NAMES)}")
    config = optimizer.get_config()
    unknown = [setting for setting in NOT_FUSED if config.get(setting)]
    if unknown or isinstance(config["learning_rate"], dict):
        raise ValueError(f"no fused update for {name} with {', '.join(unknown) or 'a schedule of its learning rate'}")
    return name, config
