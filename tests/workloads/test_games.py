import subprocess
import sys
from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest

from scaling.workloads import games
from tests.conftest import need


@pytest.fixture(params=games.GAMES)
def name(request):
    need(request.param != "atari" or find_spec("ale_py") is not None, "ale-py, the extra [atari]")
    return request.param


def acted(name: str, seed: int, acts: int) -> list[tuple[np.ndarray, float, bool]]:
    """What comes of pressing buttons at random."""
    game, rng = games.begin(name, seed), np.random.default_rng(seed)
    return [game.act(int(rng.integers(games.ACTIONS))) for _ in range(acts)]


def test_frames_rewards_and_lost_lives(name):
    frames, rewards, lost = zip(*acted(name, seed=1, acts=250), strict=True)
    assert {(frame.shape, frame.dtype.name) for frame in frames} == {((84, 84), "uint8")}
    assert set(rewards) == {0.0, 1.0}
    assert set(lost) == {False, True}
    assert len({frame.tobytes() for frame in frames}) > 50


def test_the_same_seed_plays_the_same_game(name):
    first, second = acted(name, seed=2**32 - 1, acts=30), acted(name, seed=2**32 - 1, acts=30)
    assert all(np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(first, second, strict=True))


def test_states_are_four_frames_the_newest_last(name):
    rng = np.random.default_rng(1)
    begun = games.begin(name, 1)
    frames = [begun.act(games.STAY)[0], *(begun.act(int(rng.integers(4)))[0] for _ in range(5))]
    rng = np.random.default_rng(1)
    played = list(islice(games.play(games.begin(name, 1), lambda state: int(rng.integers(4))), 5))
    assert np.array_equal(played[-1].next_state, np.stack(frames[-4:], axis=-1))
    assert np.array_equal(played[-1].state, np.stack(frames[-5:-1], axis=-1))


class Counting:
    """Shows how often it was acted on, and ends at every third time."""

    acts = 0

    def act(self, action: int) -> tuple[np.ndarray, float, bool]:
        self.acts += 1
        return np.full((games.SIDE, games.SIDE), self.acts, "uint8"), 0.0, self.acts % 3 == 0


def test_a_state_holds_nothing_from_before_a_lost_life():
    played = islice(games.play(Counting(), lambda state: games.STAY), 4)
    seen = [(*map(int, move.state[0, 0]), move.terminal) for move in played]
    assert seen == [(1, 1, 1, 1, False), (1, 1, 1, 2, True), (3, 3, 3, 3, False), (3, 3, 3, 4, False)]


def test_a_served_ball_breaks_a_brick_and_a_ball_missed_is_the_end():
    game = games.Bricks(seed=1)
    rewards, ends = zip(*(game.act(games.FIRE if not act else games.LEFT)[1:] for act in range(25)), strict=True)
    assert sum(rewards) == 1
    assert ends.index(True) > rewards.index(1.0)


def test_a_ball_caught_flies_on():
    game = games.Bricks(seed=1)
    game.act(games.FIRE)
    for _ in range(60):
        game.paddle = min(max(game.column, 8), 76)
        assert not game.act(games.STAY)[2]


def test_a_smaller_picture_keeps_the_mean_of_what_it_covers():
    rows = np.random.default_rng(1).uniform(0, 255, (210, 5))
    small = games.shrunk(rows)
    assert small.shape == (84, 5)
    assert small[0] == pytest.approx((rows[0] + rows[1] + rows[2] / 2) / 2.5)
    assert small[1] == pytest.approx((rows[2] / 2 + rows[3] + rows[4]) / 2.5)
    assert small.mean(axis=0) == pytest.approx(rows.mean(axis=0))


def test_the_emulator_is_imported_only_when_it_plays():
    play = "import sys; from scaling.workloads import games; games.begin('built-in', 1)"
    check = f"{play}; assert 'ale_py' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_without_the_emulator_our_own_game_is_played(monkeypatch):
    monkeypatch.setattr(games, "find_spec", lambda module: None)
    assert isinstance(games.begin("auto", 1), games.Bricks)
    with pytest.raises(ValueError, match=r"install the extra \[atari\]"):
        games.begin("atari", 1)


def test_a_game_there_is_not_is_refused():
    with pytest.raises(ValueError, match="'pong'; choose from auto,"):
        games.begin("pong", 1)
