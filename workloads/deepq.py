"""A network that learns to play from the screen: Mnih et al., "Human-level control through deep reinforcement
learning", Nature 2015.

Three convolutions and two dense layers turn four frames of 84 × 84 into a value for each action. A step learns from 32
transitions of a replay memory, with Huber's loss for the value of the chosen action. The batch is made before the clock
starts: the network plays, ever more greedily, and a copy of it, the target network, values the next state. As in
Fathom, a step is the update alone, and inference the values of the actions in one state. With `step=loop` a training
step is all of the paper's update: choose an action, play it, store the transition, draw 32 stored transitions, value
their next states by the target network, and learn.
Parameters for 4 actions: 8,224 + 32,832 + 36,928 + 1,606,144 + 2,052 = 1,686,180, without the target network.

Differs from the paper: without the loop, 200 actions are played, and one batch is learnt repeatedly. With the loop an
update follows every action, as in Fathom, in the paper every fourth; 2,000 transitions are stored, in the paper a
million; the target network is constant, in the paper for 10,000 updates. RMSProp's "gradient momentum" is read as
momentum of the update, without centring. Initial weights, which the paper does not specify, are He's.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice, repeat
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from scaling.workloads import games
from scaling.workloads.base import Network, Setting

ITEMS = {"train": 32, "infer": 1}
CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))  # filters, kernel, stride
HIDDEN = 512
DISCOUNT = 0.99
LEARNING_RATE = 0.00025
DECAY = 0.95
MOMENTUM = 0.95
EPSILON = 0.01

EXPLORATION = (1.0, 0.1)  # at the first action and from the last one on
ACTS = 200
STORED = 2_000

# The values of actions [B, 4] in states [B, 84, 84, 4].
Values = Callable[[np.ndarray], np.ndarray]


def action_values(seed: int) -> keras.Model:
    """From states (items, 84, 84, 4) to the value of each action (items, 4)."""
    # The weights play the game and so determine the batch: both have the same seed.
    he = keras.initializers.HeUniform(keras.random.SeedGenerator(seed))
    states = values = keras.Input((games.SIDE, games.SIDE, games.STACK))
    for filters, kernel, stride in CONVOLUTIONS:
        values = layers.Conv2D(filters, kernel, stride, activation="relu", kernel_initializer=he)(values)
    values = layers.Flatten()(values)
    values = layers.Dense(HIDDEN, activation="relu", kernel_initializer=he)(values)
    return keras.Model(states, layers.Dense(games.ACTIONS, kernel_initializer=he)(values))


def temporal_difference(values: Any, targets: Any) -> Any:
    """Huber's loss of the values of the chosen actions, mean over the items."""
    taken, wanted = targets
    return ops.mean(huber(ops.sum(values * taken, axis=1) - wanted))


def huber(error: Any) -> Any:
    """Half the square up to an error of 1, linear beyond."""
    size = ops.abs(error)
    square = ops.minimum(size, 1.0)
    return 0.5 * ops.square(square) + (size - square)


def returns(rewards: np.ndarray, terminals: np.ndarray, next_values: np.ndarray) -> np.ndarray:
    """Targets of the values: the reward plus, if the game continued, the discounted best next value."""
    return rewards + DISCOUNT * (1 - terminals) * next_values.max(axis=1)


def play(values: Values, game: games.Game, rng: np.random.Generator) -> Iterator[games.Transition]:
    """The transitions of a network that plays, at first at random, at last mostly by its values.

    Random actions compute the values too, so that every action costs the same.
    """
    exploration = chain(np.linspace(*EXPLORATION, ACTS), repeat(EXPLORATION[1]))

    def choose(state: np.ndarray) -> int:
        best = int(values(_scale_frames(state[None])).argmax())
        return int(rng.integers(games.ACTIONS)) if rng.random() < next(exploration) else best

    return games.play(game, choose)


def replay(memory: Any, values: Values, items: int, rng: np.random.Generator) -> Any:
    """A batch drawn from memory: states, and the chosen actions (one-hot) with their targets by the target network."""
    batch = [memory[number] for number in rng.integers(len(memory), size=items)]
    states, actions, rewards, terminals, next_states = (np.stack(part) for part in zip(*batch, strict=True))
    wanted = returns(rewards, terminals, values(_scale_frames(next_states)))
    return _scale_frames(states), (np.eye(games.ACTIONS, dtype="float32")[actions], wanted.astype("float32"))


def _scale_frames(states: np.ndarray) -> np.ndarray:
    return states.astype("float32") / np.float32(255)


def build(setting: Setting, game: str = "auto", step: str = "update") -> Network:
    """The network and a batch that it played; `game` is atari, built-in or auto, `step` update or loop."""
    if step not in ("update", "loop"):
        raise ValueError(f"unknown step {step!r}; choose update or loop")
    if step == "loop" and setting.mode == "infer":
        raise ValueError('step=loop is for training only; set modes = "train"')
    items = setting.item_count(ITEMS[setting.mode])
    model, target = action_values(setting.seed), action_values(setting.seed)
    target.set_weights(model.get_weights())

    def data(seed: int = setting.seed) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng(seed)
        played = play(model.predict_on_batch, games.begin(game, seed), rng)
        return replay(list(islice(played, ACTS)), target.predict_on_batch, items, rng)

    def loop(compiled: Callable[[Any], Values]) -> Iterator[tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        rng, values = np.random.default_rng(setting.seed), compiled(target)
        played = play(compiled(model), games.begin(game, setting.seed), rng)
        memory = deque(islice(played, ACTS), maxlen=STORED)
        for transition in played:
            memory.append(transition)
            yield replay(memory, values, items, rng)

    optimizer = keras.optimizers.RMSprop(LEARNING_RATE, rho=DECAY, momentum=MOMENTUM, epsilon=EPSILON)
    return Network(model, data, temporal_difference, optimizer, items, loop=loop if step == "loop" else None)
