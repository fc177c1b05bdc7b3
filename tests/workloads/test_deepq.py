from importlib.util import find_spec
from itertools import islice

import numpy as np
import pytest

from scaling.workloads import deepq, games
from scaling.workloads.base import Setting
from tests.conftest import need

SETTING = Setting("train", "published", items=8, times=1, cores=1, smt=1, intra=0, inter=0, seed=1)


def test_hubers_loss_is_a_parabola_up_to_one_and_a_line_beyond():
    errors = np.array([0, 0.5, -1, 1, -3, 10], "float32")
    assert np.asarray(deepq.huber(errors)).tolist() == [0, 0.125, 0.5, 0.5, 2.5, 9.5]


def test_a_terminal_state_does_not_bootstrap():
    next_values = np.array([[5, 2], [5, 2], [-1, -2]], "float32")
    wanted = deepq.returns(np.array([1.0, 1.0, 0.0]), np.array([True, False, False]), next_values)
    assert wanted == pytest.approx([1, 1 + 0.99 * 5, 0.99 * -1])


def test_only_the_action_taken_is_held_to_account():
    values = np.array([[7, -2], [0.5, 9]], "float32")
    taken, wanted = np.array([[0, 1], [1, 0]], "float32"), np.array([-2, 0], "float32")
    assert float(deepq.temporal_difference(values, (taken, wanted))) == pytest.approx(0.5 * 0.5**2 / 2)


@pytest.mark.parametrize("game", games.GAMES)
def test_both_games_make_the_same_tensors(game):
    need(game != "atari" or find_spec("ale_py") is not None, "ale-py, the extra [atari]")
    states, (taken, wanted) = deepq.build(SETTING, game=game).data()
    assert [part.shape for part in (states, taken, wanted)] == [(8, 84, 84, 4), (8, 4), (8,)]
    assert {part.dtype.name for part in (states, taken, wanted)} == {"float32"}
    assert 0 <= states.min() < states.max() <= 1
    assert (taken.sum(axis=1) == 1).all()
    assert len(np.unique(states, axis=0)) > 4


def test_the_target_network_is_no_part_of_the_model():
    network = deepq.build(SETTING, game="built-in")
    before = network.model.get_weights()
    network.data()
    assert network.model.count_params() == 1_686_180
    assert all(map(np.array_equal, before, network.model.get_weights()))


def test_without_exploration_the_network_takes_its_best_action(monkeypatch):
    monkeypatch.setattr(deepq, "EXPLORATION", (0.0, 0.0))
    model = deepq.action_values(seed=1)
    played = list(islice(deepq.play(model.predict_on_batch, games.Bricks(1), np.random.default_rng(1)), 20))
    states = np.stack([move.state for move in played]).astype("float32") / 255
    assert [move.action for move in played] == model.predict_on_batch(states).argmax(axis=1).tolist()


def test_inference_values_the_actions_of_one_state_as_in_fathom():
    default = SETTING._replace(items=None, mode="infer")
    assert deepq.build(default, game="built-in").items_per_step == 1
    assert deepq.build(default._replace(mode="train"), game="built-in").items_per_step == 32


def test_a_loop_plays_on_for_every_batch_it_learns_from(monkeypatch):
    monkeypatch.setattr(deepq, "ACTS", 10)
    network = deepq.build(SETTING, game="built-in", step="loop")
    asked = []

    def compiled(model):
        def values(states):
            asked.append((model is network.model, len(states)))
            return model.predict_on_batch(states)

        return values

    batches = network.loop(compiled)
    states, (taken, wanted) = next(batches)
    assert [part.shape for part in (states, taken, wanted)] == [(8, 84, 84, 4), (8, 4), (8,)]
    asked.clear()
    next(batches)
    assert asked == [(True, 1), (False, 8)]


def test_a_loop_of_inference_and_a_step_that_is_not_there_are_refused():
    with pytest.raises(ValueError, match="step=loop is for training only"):
        deepq.build(SETTING._replace(mode="infer"), step="loop")
    with pytest.raises(ValueError, match="update or loop"):
        deepq.build(SETTING, step="act")
