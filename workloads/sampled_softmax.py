"""Cross-entropy over a large vocabulary from a few sampled classes: Jean et al. (2015), like TensorFlow's function.

Each step draws a set of distinct classes, frequent ones more often, and compares every target with these only. A drawn
class represents 1 / P(drawn) classes, so the log of this probability is subtracted from its logit and from the
target's; a target that was also drawn counts once.

Classes are numbered by falling frequency, by Zipf's law: P(class) = log(1 + 1 / (class + 1)) / log(classes + 1).
TensorFlow draws until it has enough distinct classes, and derives the probabilities from the number of draws. Here the
classes are the largest log-probabilities with Gumbel noise, which has the same distribution without a loop, and the
number of draws is the one whose expected number of distinct classes is the sample size.
"""

from typing import Any

import numpy as np
from keras import ops

from scaling.workloads import kernels

# A logit that excludes a class from a softmax: its exp is zero in float32, and sums with it are finite.
EXCLUDED = -1e9


class SampledSoftmax:
    """The loss for a projection with these rows and biases.

    `draws` generates the seeds of samples; it should belong to the model, so that steps carry its state.
    """

    def __init__(self, rows: Any, biases: Any, samples: int, draws: Any) -> None:
        classes = rows.shape[0]
        self.rows, self.biases = rows, biases
        self.samples = min(samples, classes)
        self.log_frequency = kernels.constant(np.log(zipf(classes)).astype("float32"))
        self.log_chance = kernels.constant(log_inclusion_probability(classes, self.samples).astype("float32"))
        self.draws = draws

    def __call__(self, outputs: Any, targets: Any) -> Any:
        """Losses [...] of outputs [..., width] and class numbers [...], with a new draw per call."""
        flat = ops.reshape(targets, (-1,))
        outputs = ops.reshape(outputs, (-1, outputs.shape[-1]))
        losses = self.against(self.draw(), outputs, flat)
        return ops.reshape(losses, ops.shape(targets))

    def draw(self) -> Any:
        """Distinct classes [samples], frequent ones more likely."""
        uniform = kernels.uniform_like(self.log_frequency, 1e-7, self.draws)
        gumbel = -ops.log(-ops.log(uniform))
        return ops.top_k(ops.add(self.log_frequency, gumbel), self.samples)[1]

    def against(self, sampled: Any, outputs: Any, targets: Any) -> Any:
        """Losses [n] of outputs [n, width] for targets [n] and sampled classes [samples]."""
        true = ops.sum(outputs * ops.take(self.rows, targets, axis=0), axis=-1) + self._offset(targets)
        others = ops.matmul(outputs, ops.transpose(ops.take(self.rows, sampled, axis=0))) + self._offset(sampled)
        hits = ops.equal(ops.expand_dims(targets, 1), ops.expand_dims(sampled, 0))
        others = ops.where(hits, EXCLUDED, others)
        everything = ops.concatenate([ops.expand_dims(true, 1), others], axis=1)
        return ops.logsumexp(everything, axis=1) - true

    def _offset(self, classes: Any) -> Any:
        return ops.take(self.biases, classes, axis=0) - ops.take(self.log_chance, classes, axis=0)


def zipf(classes: int) -> np.ndarray:
    """The probability of each class by Zipf's law."""
    return np.log1p(1 / np.arange(1, classes + 1)) / np.log(classes + 1)


def log_inclusion_probability(classes: int, samples: int) -> np.ndarray:
    """The log-probability of each class to be among `samples` distinct ones."""
    if samples == classes:
        return np.zeros(classes)
    missed = np.log1p(-zipf(classes))
    low, high = float(samples), 1e12
    for _ in range(100):
        draws = (low * high) ** 0.5
        enough = -np.expm1(draws * missed).sum() > samples
        low, high = (low, draws) if enough else (draws, high)
    return np.log(-np.expm1(high * missed))
