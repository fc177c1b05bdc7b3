import numpy as np
import pytest
from keras.random import SeedGenerator

from scaling.workloads.sampled_softmax import SampledSoftmax, log_inclusion_probability, zipf

CLASSES, WIDTH = 50, 4


@pytest.fixture
def projection():
    random = np.random.default_rng(1)
    return random.normal(size=(CLASSES, WIDTH)).astype("float32"), random.normal(size=CLASSES).astype("float32")


@pytest.fixture
def outputs():
    return np.random.default_rng(2).normal(size=(2, 3, WIDTH)).astype("float32")


def test_with_every_class_drawn_it_is_the_full_softmax(projection, outputs):
    rows, biases = projection
    targets = np.array([[0, 7, 49], [3, 3, 20]], "int32")
    scores = outputs @ rows.T + biases
    full = np.log(np.exp(scores).sum(-1)) - np.take_along_axis(scores, targets[..., None], -1)[..., 0]
    losses = SampledSoftmax(rows, biases, samples=CLASSES, draws=SeedGenerator(1))(outputs, targets)
    assert np.asarray(losses) == pytest.approx(full, rel=1e-5)


def test_a_drawn_class_stands_for_all_that_could_have_been_drawn_in_its_place():
    rows, biases = np.zeros((CLASSES, WIDTH), "float32"), np.zeros(CLASSES, "float32")
    sampled = SampledSoftmax(rows, biases, samples=2, draws=SeedGenerator(1))
    chance = np.exp(log_inclusion_probability(CLASSES, 2))
    loss = sampled.against(np.array([4, 9]), np.ones((1, WIDTH), "float32"), np.array([30]))
    by_hand = np.log(1 / chance[30] + 1 / chance[4] + 1 / chance[9]) - np.log(1 / chance[30])
    assert np.asarray(loss) == pytest.approx([by_hand], rel=1e-5)


def test_a_target_drawn_by_accident_counts_once(projection, outputs):
    sampled = SampledSoftmax(*projection, samples=2, draws=SeedGenerator(1))
    output, target = outputs[0, :1], np.array([7])
    assert np.asarray(sampled.against(np.array([7]), output, target)) == pytest.approx([0], abs=1e-6)
    twice, once = (sampled.against(np.array(classes), output, target) for classes in ([7, 20], [20]))
    assert np.asarray(twice) == pytest.approx(np.asarray(once), rel=1e-6)


def test_draws_are_distinct_new_at_every_call_and_the_same_for_the_same_seed(projection):
    first, second = (SampledSoftmax(*projection, samples=10, draws=SeedGenerator(5)) for _ in range(2))
    draws = [np.asarray(first.draw()) for _ in range(3)]
    assert all(len(set(draw)) == 10 for draw in draws)
    assert set(draws[0]) != set(draws[1])
    assert np.array_equal(draws[0], np.asarray(second.draw()))


def test_classes_are_drawn_as_often_as_their_chance_says(projection):
    sampled = SampledSoftmax(*projection, samples=10, draws=SeedGenerator(1))
    shares = np.bincount(np.concatenate([np.asarray(sampled.draw()) for _ in range(400)]), minlength=CLASSES) / 400
    assert shares == pytest.approx(np.exp(log_inclusion_probability(CLASSES, 10)), abs=0.1)


@pytest.mark.parametrize(("classes", "samples"), [(50, 10), (5_000, 512), (40_000, 512), (50, 50)])
def test_chances_add_up_to_the_samples_and_fall_with_the_rank(classes, samples):
    chance = np.exp(log_inclusion_probability(classes, samples))
    assert chance.sum() == pytest.approx(samples)
    assert (np.diff(chance) <= 0).all()


def test_frequencies_are_a_distribution():
    assert zipf(1000).sum() == pytest.approx(1)
