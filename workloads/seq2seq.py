"""Translation by recurrent networks: Sutskever et al. (2014), with the attention of Vinyals et al. (2015).

An encoder of three LSTM layers reads the source sentence backwards; a decoder of three, started from the encoder's
last states, writes the target word by word, with attention to the encoder's outputs.

As in Fathom and unlike Sutskever: 3 × 256 cells, not 4 × 1000; vocabularies of 40,000; attention; a sampled softmax
in training; SGD at 0.5. Unlike Fathom: attention excludes padding (the encoder still reads it first); the sentences of
a batch differ, in Fathom one is repeated; the learning rate is constant; the loop is traced once, not unrolled;
inference projects each output once and returns the words.

`unroll=true` unrolls the loops over words as in Fathom: the graph then has the operations of every step, and building
it takes much of a short run. A step has 64 sentences, as in Fathom, of its bucket of at most 40 and 50 words; the
paper's has 128 of any length.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

from scaling.workloads import kernels
from scaling.workloads.base import Network, Setting
from scaling.workloads.sampled_softmax import EXCLUDED, SampledSoftmax, zipf

WIDTH = 256
LAYERS = 3
STATES = 2 * LAYERS * WIDTH
SAMPLES = 512
# Vocabulary, longest source and longest target (the bucket), sentence pairs per step.
SIZES = {"published": (40_000, (40, 50), 64), "small": (5_000, (10, 15), 32)}
PAD, GO, EOS, UNKNOWN = range(4)
SPECIAL = 4
# Unit variance, as for the source in the tutorial behind Fathom; with its small weights for the target and the
# projection, states would hardly differ between words at first, and attention hardly between positions.
WORDS_START = 3**0.5
PROJECTION_START = 0.3


class Stack(keras.layers.Layer):
    """Three LSTM cells as one cell; its state and output are c and h of each cell in order."""

    state_size = STATES

    def __init__(self) -> None:
        super().__init__()
        self.cells = [keras.layers.LSTMCell(WIDTH) for _ in range(LAYERS)]

    def build(self, _: Any) -> None:
        """Make all weights before the loop is traced."""
        for cell in self.cells:
            cell.build((None, WIDTH))

    def call(self, inputs: Any, states: Any) -> Any:
        """The next state [B, states] of inputs [B, width]."""
        before = ops.split(states[0], 2 * LAYERS, axis=1)
        after = []
        for layer, cell in enumerate(self.cells):
            c, h = before[2 * layer : 2 * layer + 2]
            inputs, (_, c) = cell(inputs, [h, c])
            after += [c, inputs]
        joined = ops.concatenate(after, axis=1)
        return joined, [joined]


class Decoder(keras.layers.Layer):
    """A cell with attention; its state and output are the stack's state and the context.

    Three constant states pass the encoder's outputs [B, S, width], their keys [B, S, width] and the logits that exclude
    padding [B, S] through the loop.
    """

    state_size = STATES + WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.stack = Stack()
        self.join = keras.layers.Dense(WIDTH)
        self.query = keras.layers.Dense(WIDTH)
        self.score = keras.layers.Dense(1, use_bias=False)

    def build(self, _: Any) -> None:
        """Make all weights before the loop is traced."""
        for layer, width in ((self.stack, WIDTH), (self.join, 2 * WIDTH), (self.query, STATES), (self.score, WIDTH)):
            layer.build((None, width))

    def call(self, word: Any, states: Any) -> Any:
        """The next state [B, states + width] after a word [B, width]."""
        carried, outputs, keys, padding = states
        stacked, context = kernels.split_at(carried, STATES)
        stacked, _ = self.stack(self.join(ops.concatenate([word, context], axis=1)), [stacked])
        with keras.name_scope("attention"):
            weights = self.attention(stacked, keys, padding)
            context = ops.matmul(ops.expand_dims(weights, 1), outputs)[:, 0]
        carried = ops.concatenate([stacked, context], axis=1)
        return carried, [carried, outputs, keys, padding]

    def attention(self, stacked: Any, keys: Any, padding: Any) -> Any:
        """Weights [B, S] of the encoder's positions: softmax of v · tanh(W · output + query)."""
        scores = self.score(ops.tanh(keys + ops.expand_dims(self.query(stacked), 1)))
        return ops.softmax(scores[..., 0] + padding, axis=-1)


class Translator(keras.Model):
    """Encoder, decoder and the projection onto words."""

    def __init__(self, vocabulary: int, unroll: bool = False, seed: int = 1) -> None:
        super().__init__()
        self.unroll = unroll
        self.draws = keras.random.SeedGenerator(seed)
        self.source_words = keras.layers.Embedding(vocabulary, WIDTH, uniform(WORDS_START))
        self.target_words = keras.layers.Embedding(vocabulary, WIDTH, uniform(WORDS_START))
        self.encoder = keras.layers.RNN(Stack(), return_sequences=True, return_state=True, unroll=unroll)
        self.key = keras.layers.Dense(WIDTH, use_bias=False)
        self.decoder = keras.layers.RNN(Decoder(), return_sequences=True, unroll=unroll)
        self.join = keras.layers.Dense(WIDTH)
        # A row per word, so that training updates only the rows of sampled words.
        self.projection = self.add_weight((vocabulary, WIDTH), uniform(PROJECTION_START), name="projection")
        self.projection_bias = self.add_weight((vocabulary,), "zeros", name="projection_bias")

    def call(self, inputs: Any) -> Any:
        """Decoder outputs [B, T, width] for sources [B, S] and previous target words [B, T]."""
        source, previous = inputs
        states = self.decoder(self.target_words(previous), initial_state=self.encode(source))
        return self.output_of(states)

    def translate(self, inputs: Any) -> Any:
        """Greedy translations [B, T] of sources [B, S]: each step gets the likeliest word of the previous step."""
        source, previous = inputs
        start, *memory = self.encode(source)
        columns = ops.transpose(self.projection)

        def step(before: Any, _: Any) -> Any:
            carried, word = before
            carried, _ = self.decoder.cell(self.target_words(word), [carried, *memory])
            with keras.name_scope("projection"):
                scores = ops.matmul(self.output_of(carried), columns) + self.projection_bias
            after = (carried, ops.argmax(scores, axis=-1))
            return after, after

        # Not `full_like`, for which torch would read the number back from the device.
        go = ops.zeros_like(source[:, 0]) + GO
        scan = scan_unrolled if self.unroll else ops.scan
        _, (_, words) = scan(step, (start, go), length=previous.shape[1])
        return ops.transpose(words)

    def encode(self, source: Any) -> list[Any]:
        """The decoder's first states, for sources [B, S]."""
        states, last = self.encoder(self.source_words(source))
        outputs = states[..., -WIDTH:]
        padding = ops.where(ops.equal(source, PAD), EXCLUDED, 0.0)
        context = ops.zeros_like(last[:, :WIDTH])
        return [ops.concatenate([last, context], axis=1), outputs, self.key(outputs), padding]

    def output_of(self, states: Any) -> Any:
        """The decoder's output [..., width]: its last layer, joined with the context."""
        return self.join(states[..., -2 * WIDTH :])


def scan_unrolled(step: Any, state: Any, length: int) -> Any:
    """`keras.ops.scan` with a graph for each step: the last state and the stacked outputs."""
    outputs = []
    for _ in range(length):
        state, output = step(state, None)
        outputs.append(output)
    return state, tuple(ops.stack(parts) for parts in zip(*outputs, strict=True))


def uniform(limit: float) -> keras.Initializer:
    """Weights from -limit to limit; each use has its own initializer, since one repeats its weights."""
    return keras.initializers.RandomUniform(-limit, limit)


def over_sentences(losses: Any, targets: Any) -> Any:
    """The mean over sentences of their mean loss per word [B, T], without padding."""
    weights = ops.cast(ops.not_equal(targets, PAD), losses.dtype)
    return ops.mean(ops.sum(losses * weights, axis=1) / ops.sum(weights, axis=1))


def sentence_pairs(items: int, vocabulary: int, bucket: tuple[int, int], seed: int) -> Any:
    """Synthetic pairs that can be translated: every word has one translation, and neighbours are exchanged.

    Words follow Zipf's law, and lengths are from half the bucket's length up.
    """
    random = np.random.default_rng(seed)
    longest, steps = bucket
    source = np.full((items, longest), PAD, "int32")
    written = np.full((items, steps + 1), PAD, "int32")
    written[:, 0] = GO
    for item, length in enumerate(random.integers(longest // 2, longest, items)):
        words = random.choice(vocabulary - SPECIAL, length, p=zipf(vocabulary - SPECIAL))
        source[item, :length] = SPECIAL + words
        written[item, 1 : length + 1] = SPECIAL + translation(words)
        written[item, length + 1] = EOS
    return (source[:, ::-1].copy(), written[:, :-1].copy()), written[:, 1:].copy()


def translation(words: np.ndarray) -> np.ndarray:
    """The translation of words: the neighbouring rank, with every two neighbours exchanged."""
    order = np.arange(len(words))
    even = len(words) // 2 * 2
    order[:even] ^= 1
    return words[order] ^ 1


def build(setting: Setting, unroll: bool = False) -> Network:
    """Sentence pairs of one bucket: training with sampled words, inference by greedy decoding."""
    vocabulary, bucket, default = SIZES[setting.size]
    items = setting.item_count(default)
    model = Translator(vocabulary, unroll, setting.seed)
    model((np.zeros((1, 2), "int32"), np.zeros((1, 2), "int32")))
    sampled = SampledSoftmax(model.projection, model.projection_bias, SAMPLES, model.draws)
    return Network(
        model=model,
        data=lambda seed=setting.seed: sentence_pairs(items, vocabulary, bucket, seed),
        loss=lambda outputs, targets: over_sentences(sampled(outputs, targets), targets),
        optimizer=keras.optimizers.SGD(0.5, global_clipnorm=5.0),
        items_per_step=items,
        infer=model.translate,
    )
