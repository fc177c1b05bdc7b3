"""A network that learns to play from the screen: Mnih et al., "Human-level control through deep reinforcement
learning", Nature 2015.

Three convolutions and two dense layers turn four frames of 84 × 84 into a value for each action. A step learns from 32
transitions out of a replay memory, with Huber's loss of the error in the value of the action taken. The batch is made
before the clock starts: the network plays, acting greedily ever more often, and a copy of it, the target network, says
what the next state is worth. As in Fathom, a step is the update alone, and inference the values of the actions in one
state. With `step=loop` a training step is the whole of what the paper does for an update: choose an action, play it,
store the transition, draw 32 of those stored, have the target network value what came next, and learn.
Parameters at 4 actions: 8,224 + 32,832 + 36,928 + 1,606,144 + 2,052 = 1,686,180; the target network's are not counted.

Differs from the paper: unless in a loop, the play is 200 actions long and never goes on, so one batch is learnt again
and again. In the loop there is an update for every action, as in Fathom, where the paper has one for every fourth; the
last 2,000 transitions are stored, there a million; the target network stays as it is, there for 10,000 updates.
RMSProp's "gradient momentum" is read as momentum of the update; gradients are not centred by it. Initial weights, of
which the paper says nothing, are He's.
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

EXPLORATION = (1.0, 0.1)  # from the first action to the last, and in those of a loop that come after it
ACTS = 200
STORED = 2_000

# The values of actions [B, 4] in states [B, 84, 84, 4].
Values = Callable[[np.ndarray], np.ndarray]


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


def play(values: Values, game: games.Game, rng: np.random.Generator) -> Iterator[games.Transition]:
    """What happens while the network plays, at random at first and mostly by its own values at last.

    The values are asked for before every action, also before those taken at random: every action costs the same.
    """
    exploration = chain(np.linspace(*EXPLORATION, ACTS), repeat(EXPLORATION[1]))

    def choose(state: np.ndarray) -> int:
        best = int(values(_scale_frames(state[None])).argmax())
        return int(rng.integers(games.ACTIONS)) if rng.random() < next(exploration) else best

    return games.play(game, choose)


def replay(memory: Any, values: Values, items: int, rng: np.random.Generator) -> Any:
    """Transitions drawn from memory as the step takes them: states, and the actions taken (one-hot) with what they
    should be worth, by the values of the target network."""
    batch = [memory[number] for number in rng.integers(len(memory), size=items)]
    states, actions, rewards, terminals, next_states = (np.stack(part) for part in zip(*batch, strict=True))
    wanted = returns(rewards, terminals, values(_scale_frames(next_states)))
    return _scale_frames(states), (np.eye(games.ACTIONS, dtype="float32")[actions], wanted.astype("float32"))


def _scale_frames(states: np.ndarray) -> np.ndarray:
    return states.astype("float32") / np.float32(255)


def build(setting: Setting, game: str = "auto", step: str = "update") -> Network:
    """The network and a batch of what it played: the real Breakout ("atari"), a game of our own ("built-in"), or
    whichever there is ("auto"). A training step is the "update" or the "loop". Both sizes are the published one."""
    if step not in ("update", "loop"):
        raise ValueError(f"no step {step!r}; there are update and loop")
    if step == "loop" and setting.mode == "infer":
        raise ValueError('step=loop is a step of training, and there is none of inference; set modes = "train"')
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
