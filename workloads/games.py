"""Games for deepq: Breakout of the Arcade Learning Environment, or a small built-in game like it.

Both return grey frames of 84 × 84 bytes and take the same four actions.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import NamedTuple, Protocol

import numpy as np

SIDE = 84
STACK = 4
STAY, FIRE, RIGHT, LEFT = range(4)  # in the order of Breakout's own action set
ACTIONS = 4
ACTION_REPEAT = 4


class Game(Protocol):
    """A game that restarts after its end."""

    def act(self, action: int) -> tuple[np.ndarray, float, bool]:
        """Do an action; return the next frame, a reward from -1 to 1 and whether a life was lost."""


class Transition(NamedTuple):
    """A state, an action and its effect; states are four frames, the newest last: (84, 84, 4)."""

    state: np.ndarray
    action: int
    reward: float
    terminal: bool
    next_state: np.ndarray


class Breakout:
    """Breakout on the emulated console, as in the paper: actions repeated, flicker removed, luminance, 84 × 84."""

    def __init__(self, seed: int) -> None:
        # The emulator is an extra, which the built-in game does not need.
        import ale_py
        from ale_py import roms

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.console = ale_py.ALEInterface()
        self.console.setInt("random_seed", seed % 2**31)  # the console's numbers have 32 bits and a sign
        self.console.setFloat("repeat_action_probability", 0.0)
        self.console.loadROM(roms.get_rom_path("breakout"))
        self.buttons = self.console.getMinimalActionSet()

    def act(self, action: int) -> tuple[np.ndarray, float, bool]:
        """Press a button for four frames; the maximum of the last two shows objects of alternate frames."""
        lives, reward, screens = self.console.lives(), 0, []
        for number in range(ACTION_REPEAT):
            reward += self.console.act(self.buttons[action])
            if number >= ACTION_REPEAT - 2:
                screens.append(self.console.getScreenGrayscale())
        lost = self.console.lives() < lives
        if self.console.game_over():
            self.console.reset_game()
        frame = shrunk(shrunk(np.maximum(*screens).astype("float32")).T).T
        return np.rint(frame).astype("uint8"), float(np.sign(reward)), lost


class Bricks:
    """A ball, a paddle and a wall of bricks: each hit brick is rewarded, a missed ball ends the game."""

    WALL = slice(12, 24)  # rows of pixels
    BRICK = (3, 7)  # rows and columns of a brick
    PADDLE_ROW, PADDLE_REACH, PADDLE_SPEED = 78, 8, 4

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self._begin()

    def _begin(self) -> None:
        height, width = self.BRICK
        self.bricks = np.full(((self.WALL.stop - self.WALL.start) // height, SIDE // width), True)
        self.paddle = SIDE // 2
        self.row, self.column = 48, int(self.rng.integers(8, SIDE - 8))
        self.down, self.right = -4, int(self.rng.choice((-3, -2, 2, 3)))
        self.served = False

    def act(self, action: int) -> tuple[np.ndarray, float, bool]:
        """Move the paddle or serve, then move the ball."""
        push = self.PADDLE_SPEED * ((action == RIGHT) - (action == LEFT))
        self.paddle = min(max(self.paddle + push, self.PADDLE_REACH), SIDE - self.PADDLE_REACH)
        self.served |= action == FIRE
        reward = self._fly() if self.served else 0.0
        frame, missed = self._render(), self.row >= SIDE - 2
        if missed or not self.bricks.any():
            self._begin()
        return frame, reward, missed

    def _fly(self) -> float:
        self.row += self.down
        self.column += self.right
        if not 2 <= self.column < SIDE - 2:
            self.right = -self.right
            self.column = min(max(self.column, 2), SIDE - 3)
        on_paddle = self.PADDLE_ROW - 4 <= self.row < self.PADDLE_ROW
        on_paddle &= abs(self.column - self.paddle) <= self.PADDLE_REACH
        if self.row <= 4 or (self.down > 0 and on_paddle):
            self.down = -self.down
        return self._hit()

    def _hit(self) -> float:
        brick = (self.row - self.WALL.start) // self.BRICK[0], self.column // self.BRICK[1]
        if not (0 <= brick[0] < len(self.bricks) and self.bricks[brick]):
            return 0.0
        self.bricks[brick] = False
        self.down = -self.down
        return 1.0

    def _render(self) -> np.ndarray:
        frame = np.zeros((SIDE, SIDE), "uint8")
        frame[self.WALL] = 140 * np.kron(self.bricks, np.ones(self.BRICK, "uint8"))
        paddle = slice(self.paddle - self.PADDLE_REACH, self.paddle + self.PADDLE_REACH)
        frame[self.PADDLE_ROW : self.PADDLE_ROW + 2, paddle] = 180
        frame[self.row - 1 : self.row + 1, self.column - 1 : self.column + 1] = 220
        return frame


GAMES = {"atari": Breakout, "built-in": Bricks}


def begin(name: str, seed: int) -> Game:
    """A game by its name; "auto" is "atari" if ale-py is installed, else "built-in"."""
    installed = find_spec("ale_py") is not None
    if name == "auto":
        name = "atari" if installed else "built-in"
    if name not in GAMES:
        raise ValueError(f"unknown game {name!r}; choose from auto, {', '.join(GAMES)}")
    if name == "atari" and not installed:
        raise ValueError("the game 'atari' needs ale-py: install the extra [atari], or choose 'built-in'")
    return GAMES[name](seed)


def play(game: Game, choose: Callable[[np.ndarray], int]) -> Iterator[Transition]:
    """Endless transitions; a state never holds frames from before a lost life."""
    state = _still(game.act(STAY)[0])
    while True:
        action = choose(state)
        frame, reward, terminal = game.act(action)
        next_state = np.concatenate([state[..., 1:], frame[..., None]], axis=-1)
        yield Transition(state, action, reward, terminal, next_state)
        state = _still(frame) if terminal else next_state


def _still(frame: np.ndarray) -> np.ndarray:
    return np.repeat(frame[..., None], STACK, axis=-1)


def shrunk(picture: np.ndarray) -> np.ndarray:
    """A picture with 84 rows, each the mean of the rows it covers; a matrix product would start threads of its own."""
    edges = np.linspace(0, len(picture), SIDE + 1)
    whole = np.minimum(edges.astype(int), len(picture) - 1)
    above = np.cumsum(picture, axis=0) - picture
    up_to = above[whole] + (edges - whole)[:, None] * picture[whole]
    return np.diff(up_to, axis=0) * SIDE / len(picture)
