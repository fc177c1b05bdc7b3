import keras
import numpy as np
import pytest

from scaling.workloads.speech import (
    BLANK,
    FEATURES,
    PHONES,
    SHAPES,
    DeepSpeech,
    Shape,
    clipped_relu,
    mean_ctc,
    utterances,
)

WIDTH, FRAMES = 8, 6
LASTS = (4, 12)
LENGTHS = np.array([4, 6], "int32")


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(1)  # of so few units chance may leave none that fires
    made = DeepSpeech(WIDTH)
    made((np.zeros((1, 2, FEATURES), "float32"), np.ones(1, "int32")))
    return made


@pytest.fixture
def frames():
    return np.random.default_rng(1).normal(size=(2, FRAMES, FEATURES)).astype("float32")


@pytest.fixture
def hidden():
    return np.random.default_rng(2).uniform(0, 3, (2, FRAMES, WIDTH)).astype("float32")


@pytest.fixture
def scores():
    return np.random.default_rng(3).normal(size=(2, FRAMES, PHONES + 1)).astype("float32")


TARGETS = (np.array([[3, 5, 0], [1, 2, 3]], "int32"), np.array([2, 3], "int32"), LENGTHS)


def test_frames_beyond_an_utterance_change_nothing(model, frames):
    changed = frames.copy()
    changed[0, 4:] += 5
    before, after = np.asarray(model((frames, LENGTHS))), np.asarray(model((changed, LENGTHS)))
    assert before.shape == (2, FRAMES, PHONES + 1)
    assert np.array_equal(before[0, :4], after[0, :4])
    assert np.array_equal(before[1], after[1])


def test_an_utterance_is_encoded_as_if_it_had_no_padding(model, frames):
    padded = np.asarray(model((frames, LENGTHS)))[0, :4]
    alone = np.asarray(model((frames[:1, :4], LENGTHS[:1])))[0]
    assert padded == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize(("changed", "seen"), [(0, 3), (3, 0)])
def test_every_frame_hears_of_those_before_and_after_it(model, hidden, changed, seen):
    other = hidden.copy()
    other[0, changed] += 3
    before, after = (np.asarray(model.both_ways(frames, LENGTHS)) for frames in (hidden, other))
    assert not np.allclose(before[0, seen], after[0, seen])


def test_both_directions_read_one_projection(hidden):
    model = DeepSpeech(WIDTH)
    lengths = np.array([FRAMES, FRAMES], "int32")
    model.both_ways(hidden, lengths)
    for direction in (model.onwards, model.backwards):
        direction.cell.recurrent.assign(np.zeros((WIDTH, WIDTH)))
    once = np.asarray(clipped_relu(model.shared(hidden)))
    assert np.asarray(model.both_ways(hidden, lengths)) == pytest.approx(2 * once, rel=1e-5)


def test_activations_are_clipped_at_both_ends():
    assert np.asarray(clipped_relu(np.array([-3.0, 0.5, 19.0, 21.0]))).tolist() == [0, 0.5, 19, 20]


def test_scores_beyond_the_frames_and_labels_beyond_theirs_change_nothing(scores):
    loss = float(mean_ctc(scores, TARGETS))
    labels, label_lengths, frame_lengths = (part.copy() for part in TARGETS)
    scores[0, 4:] += 9
    labels[0, 2:] = 8
    assert float(mean_ctc(scores, (labels, label_lengths, frame_lengths))) == loss


def test_the_numbers_of_frames_and_of_labels_each_change_the_loss(scores):
    labels, label_lengths, frame_lengths = TARGETS
    losses = [
        float(mean_ctc(scores, TARGETS)),
        float(mean_ctc(scores, (labels, label_lengths, frame_lengths - 1))),
        float(mean_ctc(scores, (labels, label_lengths - 1, frame_lengths))),
    ]
    assert len(set(losses)) == 3


def test_two_frames_have_three_alignments_with_one_phone():
    scores = np.random.default_rng(1).normal(size=(1, 2, PHONES + 1)).astype("float32")
    first, second = (np.exp(frame) / np.exp(frame).sum() for frame in scores[0])
    likely = first[3] * second[3] + first[3] * second[BLANK] + first[BLANK] * second[3]
    targets = (np.array([[3]], "int32"), np.array([1], "int32"), np.array([2], "int32"))
    assert float(mean_ctc(scores, targets)) == pytest.approx(-np.log(likely), rel=1e-5)


def test_utterances_differ_in_length_and_are_standardised_where_they_sound():
    (spectra, frame_lengths), (labels, label_lengths, loss_frame_lengths) = utterances(Shape(8, 100, LASTS), seed=1)
    assert np.array_equal(frame_lengths, loss_frame_lengths)
    assert len(set(frame_lengths)) > 1
    assert len(set(label_lengths)) > 1
    assert (labels < PHONES).all()
    for frames, length in zip(spectra, frame_lengths, strict=True):
        assert frames[:length].mean(axis=0) == pytest.approx(0, abs=1e-5)
        assert frames[:length].std(axis=0) == pytest.approx(1, rel=1e-4)
        assert (frames[length:] == 0).all()


def test_no_utterance_has_more_labels_than_its_frames_can_spell():
    _, (labels, label_lengths, frame_lengths) = utterances(Shape(200, 40, LASTS), seed=1)
    assert (4 * label_lengths <= frame_lengths).all()
    assert all((np.diff(phones[:length]) != 0).all() for phones, length in zip(labels, label_lengths, strict=True))


def test_the_same_seed_makes_the_same_utterances():
    first, second, other = (utterances(Shape(4, 50, LASTS), seed)[0][0] for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_fathoms_utterances_have_its_shape_and_no_more_labels_than_it_has_room_for():
    (spectra, frame_lengths), (labels, label_lengths, _) = utterances(SHAPES["fathom"], seed=1)
    assert spectra.shape == (32, 1566, 26)
    assert labels.shape == (32, 74)
    assert frame_lengths.max() > 1400
    assert 40 < label_lengths.max() <= 74
