"""A network that learns to play from the screen: Mnih et al., "Human-level control through deep reinforcement
learning", Nature 2015.

Three convolutions and two dense layers turn four frames of 84 × 84 into a value for each action. A step learns from 32
transitions out of a replay memory, with Huber's loss of the error in the value of the action taken. The batch is made
before the clock starts: the network plays, acting greedily ever more often, and a copy of it, the target network, says
what the next state is worth. As in Fathom, a step is the update alone. Inference is the values of the actions in 32
states.
Parameters at 4 actions: 8,224 + 32,832 + 36,928 + 1,606,144 + 2,052 = 1,686,180; the target network's are not counted.

Differs from the paper: the play is a few hundred frames long and never goes on, so one batch is learnt again and again.
RMSProp's "gradient momentum" is read as momentum of the update; gradients are not centred by it. Initial weights, of
which the paper says nothing, are He's.
"""

from itertools import islice
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from scaling.workloads import games
from scaling.workloads.base import Network, Setting

ITEMS = 32
CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  # filters, kernel, stride
HIDDEN = 512
DISCOUNT = 0.99
LEARNING_RATE = 0.00025
DECAY = 0.95
MOMENTUM = 0.95
EPSILON = 0.01

EXPLORATION = (1.0, 0.1)  # from the first action to the last
ACTS = 200


def action_values(seed: int) -> keras.Model:
    """From states (items, 84, 84, 4) to the value of each action (items, 4)."""
    # The weights play the game and so shape the batch: their seed is the batch's.
    he = keras.initializers.HeUniform(keras.random.SeedGenerator(seed))
    states = values = keras.Input((games.SIDE, games.SIDE, games.STACK))
    for filters, kernel, stride in CONVOLUTIONS:
        values = layers.Conv2D(filters, kernel, stride, activation="relu", kernel_initializer=he)(values)
    values = layers.Flatten()(values)
    values = layers.Dense(HIDDEN, activation="relu", kernel_initializer=he)(values)
    return keras.Model(states, layers.Dense(games.ACTIONS, kernel_initializer=he)(values))


def temporal_difference(values: Any, targets: Any) -> Any:
    """Huber's loss of the values of the actions taken, against what they should be, mean over the items."""
    taken, wanted = targets
    return ops.mean(huber(ops.sum(values * taken, axis=1) - wanted))


def huber(error: Any) -> Any:
    """Half the square up to an error of one, linear beyond."""
    size = ops.abs(error)
    square = ops.minimum(size, 1.0)
    return 0.5 * ops.square(square) + (size - square)


def returns(rewards: np.ndarray, terminals: np.ndarray, next_values: np.ndarray) -> np.ndarray:
    """What the values should be: the reward and, where the game went on, the best of what comes next, discounted."""
    return rewards + DISCOUNT * (1 - terminals) * next_values.max(axis=1)


def replay_memory(model: keras.Model, game: games.Game, rng: np.random.Generator) -> list[games.Transition]:
    """What happens while the network plays, at random at first and mostly by its own values at last."""
    exploration = iter(np.linspace(*EXPLORATION, ACTS))

    def choose(state: np.ndarray) -> int:
        if rng.random() < next(exploration):
            return int(rng.integers(games.ACTIONS))
        return int(model.predict_on_batch(_scale_frames(state[None])).argmax())

    return list(islice(games.play(game, choose), ACTS))


def learnt_from(batch: list[games.Transition], target: keras.Model) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Transitions as the step takes them: states, and the actions taken (one-hot) with what they should be worth."""
    states, actions, rewards, terminals, next_states = (np.stack(part) for part in zip(*batch, strict=True))
    wanted = returns(rewards, terminals, target.predict_on_batch(_scale_frames(next_states)))
    return _scale_frames(states), (np.eye(games.ACTIONS, dtype="float32")[actions], wanted.astype("float32"))


def _scale_frames(states: np.ndarray) -> np.ndarray:
    return states.astype("float32") / np.float32(255)


def build(setting: Setting, game: str = "auto") -> Network:
    """The network and a batch of what it played: the real Breakout ("atari"), a game of our own ("built-in"), or
    whichever there is ("auto"). Both sizes are the published one."""
    items = setting.item_count(ITEMS)
    model = action_values(setting.seed)

    def data(seed: int = setting.seed) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng(seed)
        memory = replay_memory(model, games.begin(game, seed), rng)
        target = action_values(setting.seed)
        target.set_weights(model.get_weights())
        return learnt_from([memory[number] for number in rng.integers(len(memory), size=items)], target)

    optimizer = keras.optimizers.RMSprop(LEARNING_RATE, rho=DECAY, momentum=MOMENTUM, epsilon=EPSILON)
    return Network(model, data, temporal_difference, optimizer, items)
