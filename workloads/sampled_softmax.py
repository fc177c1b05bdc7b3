"""Cross-entropy over a large vocabulary from a few sampled classes: Jean et al. (2015), as TensorFlow's own function.

Each step draws a set of distinct classes, the frequent ones more often, and holds every target against those instead
of all. A drawn class stands for 1 / P(it is drawn) of its kind, so the logarithm of that probability is taken from its
logit, and from the target's; a target that was also drawn by accident counts once, as the target.

Classes are numbered by falling frequency, as Zipf's law has it: P(class) = log(1 + 1 / (class + 1)) / log(classes + 1).
TensorFlow draws until it has enough distinct classes, and makes the probabilities from the number of draws that took;
here the draws are the largest of the log-probabilities with Gumbel noise, which has the same distribution and needs no
loop, and the number of draws is the one that is expected to yield so many classes.
"""

from typing import Any

import numpy as np
from keras import ops

from scaling.workloads import kernels

# What takes a class out of a softmax: exp of it is zero in float32, and sums with it stay finite.
EXCLUDED = -1e9


class SampledSoftmax:
    """The loss of outputs against their targets, given the rows and biases of the projection that scores classes.

    `draws` generates the seeds of its samples; it should be one of the model's, whose state a step then carries.
    """

    def __init__(self, rows: Any, biases: Any, samples: int, draws: Any) -> None:
        classes = rows.shape[0]
        self.rows, self.biases = rows, biases
        self.samples = min(samples, classes)
        self.log_frequency = kernels.constant(np.log(zipf(classes)).astype("float32"))
        self.log_chance = kernels.constant(log_inclusion_probability(classes, self.samples).astype("float32"))
        self.draws = draws

    def __call__(self, outputs: Any, targets: Any) -> Any:
        """Losses [...] of outputs [..., width] against class numbers [...], each call with a new draw."""
        flat = ops.reshape(targets, (-1,))
        outputs = ops.reshape(outputs, (-1, outputs.shape[-1]))
        losses = self.against(self.draw(), outputs, flat)
        return ops.reshape(losses, ops.shape(targets))

    def draw(self) -> Any:
        """Distinct classes [samples], the frequent ones more likely."""
        uniform = kernels.uniform_like(self.log_frequency, 1e-7, self.draws)
        gumbel = -ops.log(-ops.log(uniform))
        return ops.top_k(ops.add(self.log_frequency, gumbel), self.samples)[1]

    def against(self, sampled: Any, outputs: Any, targets: Any) -> Any:
        """Losses [n] of outputs [n, width] against targets [n] and the classes drawn [samples]."""
        true = ops.sum(outputs * ops.take(self.rows, targets, axis=0), axis=-1) + self._offset(targets)
        others = ops.matmul(outputs, ops.transpose(ops.take(self.rows, sampled, axis=0))) + self._offset(sampled)
        hits = ops.equal(ops.expand_dims(targets, 1), ops.expand_dims(sampled, 0))
        others = ops.where(hits, EXCLUDED, others)
        everything = ops.concatenate([ops.expand_dims(true, 1), others], axis=1)
        return ops.logsumexp(everything, axis=1) - true

    def _offset(self, classes: Any) -> Any:
        return ops.take(self.biases, classes, axis=0) - ops.take(self.log_chance, classes, axis=0)


def zipf(classes: int) -> np.ndarray:
    """The probability of each class, falling as one over its rank."""
    return np.log1p(1 / np.arange(1, classes + 1)) / np.log(classes + 1)


def log_inclusion_probability(classes: int, samples: int) -> np.ndarray:
    """The logarithm of each class's probability to be among so many distinct ones."""
    if samples == classes:
        return np.zeros(classes)
    missed = np.log1p(-zipf(classes))
    low, high = float(samples), 1e12
    for _ in range(100):
        draws = (low * high) ** 0.5
        enough = -np.expm1(draws * missed).sum() > samples
        low, high = (low, draws) if enough else (draws, high)
    return np.log(-np.expm1(high * missed))
