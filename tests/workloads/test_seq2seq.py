import keras
import numpy as np
import pytest
from keras import ops

from scaling.workloads.seq2seq import EOS, GO, PAD, SPECIAL, Translator, over_sentences, sentence_pairs, translation

VOCABULARY = 30
SOURCE = np.array([[PAD, PAD, 5, 9, 4], [PAD, 8, 7, 6, 5]], "int32")
TOLD = np.array([[GO, 5, 8, 4, EOS, PAD], [GO, 6, 9, 4, 7, EOS]], "int32")


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(1)
    made = Translator(VOCABULARY)
    made((SOURCE, TOLD))
    return made


def test_attention_gives_padding_no_weight_at_all(model):
    carried, _, keys, padding = model.encode(SOURCE)
    stacked = carried[:, : model.encoder.cell.state_size]
    weights = np.asarray(model.decoder.cell.attention(stacked, keys, padding))
    assert (weights[SOURCE == PAD] == 0).all()
    assert (weights[SOURCE != PAD] > 0).all()
    assert weights.sum(axis=1) == pytest.approx(1, rel=1e-5)


def test_what_the_encoder_says_of_padding_does_not_reach_the_decoder(model):
    carried, outputs, keys, padding = model.encode(SOURCE)
    nonsense = 7 * np.float32(SOURCE == PAD)[:, :, None]
    word = model.target_words(TOLD[:, 0])
    as_read, _ = model.decoder.cell(word, [carried, outputs, keys, padding])
    as_changed, _ = model.decoder.cell(word, [carried, outputs + nonsense, keys + nonsense, padding])
    assert np.array_equal(as_read, as_changed)


def test_the_context_comes_back_into_the_next_step(model):
    carried, *memory = model.encode(SOURCE)
    word = model.target_words(TOLD[:, 0])
    width = model.target_words.output_dim
    other = ops.concatenate([carried[:, :-width], carried[:, -width:] + 1], axis=1)
    before, after = (np.asarray(model.decoder.cell(word, [context, *memory])[0]) for context in (carried, other))
    assert not np.allclose(before[:, :-width], after[:, :-width])


def test_an_output_depends_on_the_words_so_far_and_on_none_later(model):
    changed = TOLD.copy()
    changed[:, 3] = 11
    before, after = np.asarray(model((SOURCE, TOLD))), np.asarray(model((SOURCE, changed)))
    assert before[:, :3] == pytest.approx(after[:, :3], abs=1e-6)
    assert not np.allclose(before[:, 3:], after[:, 3:])


def test_greedy_decoding_gives_the_words_that_teacher_forcing_on_them_finds_likeliest(model):
    words = np.asarray(model.translate((SOURCE, TOLD)))
    assert words.shape == TOLD.shape
    assert words.dtype == np.int32
    previous = np.concatenate([np.full((2, 1), GO, "int32"), words[:, :-1]], axis=1)
    scores = np.asarray(model((SOURCE, previous))) @ np.asarray(model.projection).T + np.asarray(model.projection_bias)
    assert np.array_equal(words, scores.argmax(axis=-1))


def test_source_and_target_words_start_differently(model):
    assert not np.allclose(model.source_words.embeddings, model.target_words.embeddings)


def test_padding_weighs_nothing_and_every_sentence_the_same():
    losses = np.array([[1, 3, 99, 99], [4, 4, 10, 99]], "float32")
    targets = np.array([[5, EOS, PAD, PAD], [6, 7, EOS, PAD]], "int32")
    assert float(over_sentences(losses, targets)) == pytest.approx((2 + 6) / 2)


def test_a_pair_is_a_source_backwards_and_its_translation_word_by_word():
    (source, previous), targets = sentence_pairs(items=20, vocabulary=100, bucket=(10, 15), seed=1)
    assert (source.shape, previous.shape, targets.shape) == ((20, 10), (20, 15), (20, 15))
    assert np.array_equal(previous[:, 1:], targets[:, :-1])
    for backwards, inputs, outputs in zip(source, previous, targets, strict=True):
        words = backwards[::-1][: np.count_nonzero(backwards)]
        expected = [*(SPECIAL + translation(words - SPECIAL)), EOS]
        assert (words >= SPECIAL).all()
        assert inputs[0] == GO
        assert outputs[: len(expected)].tolist() == expected
        assert (outputs[len(expected) :] == PAD).all()
        assert outputs[-1] == PAD
    assert len(set(np.count_nonzero(source, axis=1))) > 1


def test_a_translation_exchanges_neighbours_and_gives_every_word_its_own():
    assert translation(np.array([10, 20, 30])).tolist() == [21, 11, 31]
    assert sorted(translation(np.arange(96))) == list(range(96))


def test_the_same_seed_makes_the_same_pairs():
    first, second, other = (sentence_pairs(8, 100, (10, 15), seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_unrolled_loops_give_what_loops_give(model):
    unrolled = Translator(VOCABULARY, unroll=True)
    unrolled((SOURCE, TOLD))
    unrolled.set_weights(model.get_weights())
    assert np.asarray(unrolled((SOURCE, TOLD))) == pytest.approx(np.asarray(model((SOURCE, TOLD))), abs=1e-5)
    assert np.array_equal(unrolled.translate((SOURCE, TOLD)), model.translate((SOURCE, TOLD)))
