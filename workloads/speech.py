"""Speech to phones: Deep Speech, Hannun et al. (2014), without the language model.

Three dense layers process each frame, a recurrent layer runs over the frames in both directions, and a fifth layer and
a linear one score 61 phones and a blank for every frame. CTC, Graves et al. (2006), sums over all alignments.

Unlike the paper, and as in Fathom: 26 features of a single frame without neighbours; phones as in TIMIT, not letters;
no dropout. The paper does not specify initial weights: here the recurrent matrices are half the identity, so that a
state fades within a few frames and stays below the clip. Nesterov momentum is the paper's 0.99; gradients are clipped
to a norm, since the full width would overflow at its second step.
Unlike Fathom: 2048 wide as in the paper, not 1024; the recurrent layer is connected, its directions share their input
weights, and it stops at an utterance's last frame; a fifth layer follows; the scores are linear; weights do not start
at zero; CTC gets the number of frames, not the number of labels.

A step has 16 utterances of at most 300 frames, 3 s at the usual 10 ms. `shape=fathom` is Fathom's batch: 32 utterances
of up to 1566 frames of 5 ms, with at most 74 phones (Fathom's arrays have room for 75). The paper names no batch.
"""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from scaling.workloads import kernels
from scaling.workloads.base import Network, Setting

FEATURES = 26
PHONES = 61
BLANK = PHONES
CLIP = 20.0
WIDTHS = {"published": 2048, "small": 256}


class Shape(NamedTuple):
    """Utterances per step, frames of the longest, and the fewest and most frames of a phone."""

    items: int
    frames: int
    lasts: tuple[int, int]


# At 10 ms per frame, speech has about a dozen phones per second.
SHAPES = {"published": Shape(16, 300, (4, 12)), "small": Shape(8, 100, (4, 12)), "fathom": Shape(32, 1566, (21, 30))}
NOISE = 0.5
# The share of a state that remains after a frame, at first.
KEPT = 0.5
# An input that resets the state to zero.
SILENCE = -1e9


def clipped_relu(x: Any) -> Any:
    """A ReLU up to 20."""
    return ops.minimum(ops.relu(x), CLIP)


class Recurrence(keras.layers.Layer):
    """A cell with recurrent weights only, for projected inputs [B, width]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.state_size = width
        self.recurrent = self.add_weight((width, width), keras.initializers.Identity(KEPT), name="recurrent")

    def call(self, inputs: Any, states: Any) -> Any:
        """The next state [B, width]."""
        state = clipped_relu(inputs + ops.matmul(states[0], self.recurrent))
        return state, [state]


class DeepSpeech(keras.Model):
    """Scores of phones and blank for the frames of utterances of different lengths."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before = [dense(width) for _ in range(3)]
        self.shared = keras.layers.Dense(width, kernel_initializer="he_normal")
        # Not `forward` and `backward`, which are methods of a module of torch.
        self.onwards = keras.layers.RNN(Recurrence(width), return_sequences=True)
        self.backwards = keras.layers.RNN(Recurrence(width), return_sequences=True, go_backwards=True)
        self.after = dense(width)
        self.scores = keras.layers.Dense(PHONES + 1)

    def call(self, inputs: Any) -> Any:
        """Scores [B, T, 62] of frames [B, T, 26] and their numbers [B]."""
        x, lengths = inputs
        for layer in self.before:
            x = layer(x)
        return self.scores(self.after(self.both_ways(x, lengths)))

    def both_ways(self, x: Any, lengths: Any) -> Any:
        """The sum of both directions [B, T, width]; the backward one starts at an utterance's last frame."""
        real = ops.expand_dims(ops.arange(x.shape[1]), 0) < ops.expand_dims(lengths, 1)
        projected = ops.where(ops.expand_dims(real, 2), self.shared(x), SILENCE)
        return self.onwards(projected) + ops.flip(self.backwards(projected), axis=1)


def dense(width: int) -> keras.layers.Layer:
    """A dense layer with the clipped ReLU."""
    return keras.layers.Dense(width, clipped_relu, kernel_initializer="he_normal")


def mean_ctc(scores: Any, targets: Any) -> Any:
    """The mean CTC loss of utterances; targets are labels [B, L], their lengths and the frames' lengths."""
    labels, label_lengths, frame_lengths = targets
    return ops.mean(kernels.ctc_losses(scores, labels, label_lengths, frame_lengths, BLANK))


def utterances(shape: Shape, seed: int) -> Any:
    """Synthetic utterances: every phone has a typical frame, lasts for several frames and has noise."""
    random = np.random.default_rng(seed)
    typical = random.normal(size=(PHONES, FEATURES))
    items, frames, lasts = shape
    spectra = np.zeros((items, frames, FEATURES), "float32")
    labels = np.zeros((items, frames // lasts[0]), "int32")
    label_lengths = np.zeros(items, "int32")
    frame_lengths = random.integers(frames // 2, frames, items, "int32", endpoint=True)
    for item, length in enumerate(frame_lengths):
        phones, durations = phones_of(length, lasts, random)
        clear = np.repeat(typical[phones], durations, axis=0)
        spectra[item, :length] = standardise(clear + NOISE * random.normal(size=clear.shape))
        labels[item, : len(phones)] = phones
        label_lengths[item] = len(phones)
    return (spectra, frame_lengths), (labels, label_lengths, frame_lengths)


def phones_of(frames: int, lasts: tuple[int, int], random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Phones without equal neighbours and their durations, which fill `frames`; the last phone takes the rest."""
    shortest, longest = lasts
    durations = random.integers(shortest, longest, frames // shortest, endpoint=True)
    count = max(1, int(np.searchsorted(np.cumsum(durations), frames - shortest, side="right")))
    durations = durations[:count]
    durations[-1] += frames - durations.sum()
    return np.cumsum(random.integers(1, PHONES, count)) % PHONES, durations


def standardise(frames: np.ndarray) -> np.ndarray:
    """Frames of an utterance, scaled to mean 0 and variance 1 of every feature."""
    return (frames - frames.mean(axis=0)) / frames.std(axis=0)


def build(setting: Setting, shape: str = "auto") -> Network:
    """Utterances of different lengths, in the shape of the size ("auto") or of "fathom"."""
    if shape not in ("auto", "fathom"):
        raise ValueError(f"unknown shape {shape!r}; choose auto or fathom")
    chosen = SHAPES[setting.size if shape == "auto" else shape]
    chosen = chosen._replace(items=setting.item_count(chosen.items))
    model = DeepSpeech(WIDTHS[setting.size])
    model((np.zeros((1, 2, FEATURES), "float32"), np.ones(1, "int32")))
    return Network(
        model=model,
        data=lambda seed=setting.seed: utterances(chosen, seed),
        loss=mean_ctc,
        optimizer=keras.optimizers.SGD(1e-3, momentum=0.99, nesterov=True, global_clipnorm=10.0),
        items_per_step=chosen.items,
    )
