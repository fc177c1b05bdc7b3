"""A memory network that answers questions: Sukhbaatar et al., "End-To-End Memory Networks", 2015.

Three hops of width 20 over a memory of 50 sentences of 6 words, with position and temporal encoding and adjacent
weight tying: A1 = B, A(k+1) = C(k), W transposed = C3, and temporal matrices likewise. K hops have K + 1 tables of V
words and of M times: (K+1)·d·(V+M) = 4·20·(20+50) = 5,600 parameters.
All tables are one matrix, so that a word is looked up once. Memory is read by multiplications, sums and
transpositions, not by batched matrix products.

A step has 32 stories, as in the paper and in Fathom, whose memory has the 10 sentences of its longest story.

Differs from the paper: empty memories get no attention, and the row of the nil word is zero in all tables, also for the
answer. No linear start, no noise of empty memories, and a constant learning rate. Stories are synthetic, like bAbI's
first task but longer, so that they fill the memory. As in the authors' programs, the loss is summed over the items, and
the position encoding assumes six words per sentence.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import layers, ops

from scaling.workloads import kernels
from scaling.workloads.base import Network, Setting

ITEMS = 32
HOPS = 3
WIDTH = 20
MEMORY = 50
SENTENCE = 6
LEARNING_RATE = 0.01
CLIP_NORM = 40.0
SPREAD = 0.1  # of the initial weights

NIL = 0
PEOPLE = ("daniel", "john", "mary", "sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
MOVES = ("journeyed", "moved", "travelled", "went", "went back")
WORDS = (*PEOPLE, *PLACES, "journeyed", "moved", "travelled", "went", "back", "to", "the", "where", "is")
NUMBER = {word: number for number, word in enumerate(WORDS, start=NIL + 1)}
VOCABULARY = 1 + len(WORDS)


def position_encoding() -> np.ndarray:
    """Weights of word j of J in dimension k of d, both from 1: (1 - j/J) - (k/d) (1 - 2j/J)."""
    word = np.arange(1, SENTENCE + 1)[:, None] / SENTENCE
    dimension = np.arange(1, WIDTH + 1) / WIDTH
    return ((1 - word) - dimension * (1 - 2 * word)).astype("float32")


class Memory(layers.Layer):
    """The hops: from the words of a story and a query to a score for each word as the answer."""

    def __init__(self) -> None:
        super().__init__()
        normal = keras.initializers.RandomNormal
        self.words = [self.add_weight((VOCABULARY, WIDTH), normal(stddev=SPREAD)) for _ in range(HOPS + 1)]
        self.times = [self.add_weight((MEMORY, WIDTH), normal(stddev=SPREAD)) for _ in range(HOPS + 1)]
        self.positions = position_encoding()
        self.real = kernels.constant((np.arange(VOCABULARY) != NIL).astype("float32")[:, None])

    def call(self, stories, queries):
        table = ops.multiply(ops.concatenate(self.words, axis=1), self.real)
        filled = ops.any(ops.not_equal(stories, NIL), axis=2)
        # The values of one hop are the keys of the next.
        sentences = self.embed(stories, table) + ops.concatenate(self.times, axis=1)
        state = self.embed(queries, table[:, :WIDTH])
        for keys, values in pairwise(ops.split(sentences, HOPS + 1, axis=-1)):
            with keras.name_scope("attention"):
                state = state + read(state, keys, values, filled)
        return ops.matmul(state, ops.transpose(table[:, -WIDTH:]))

    def embed(self, sentences, table):
        """Sentences as weighted sums of the rows of their words in all tables: (…, 6) to (…, tables · 20)."""
        positions = np.tile(self.positions, (1, table.shape[1] // WIDTH))
        with keras.name_scope("embedding"):
            return ops.sum(ops.multiply(kernels.look_up(table, sentences), positions), axis=-2)


def read(state: Any, keys: Any, values: Any, filled: Any) -> Any:
    """The sum of the values, weighted by the attention of the state to the keys of filled memories: (items, 20)."""
    query = ops.transpose(ops.expand_dims(state, -1), (0, 2, 1))
    scores = ops.sum(keys * query, axis=2)
    attention = ops.softmax(ops.where(filled, scores, -1e9), axis=1)
    weights = ops.transpose(ops.expand_dims(attention, -1), (0, 2, 1))
    return ops.sum(ops.transpose(values, (0, 2, 1)) * weights, axis=2)


def memory_network() -> keras.Model:
    """From stories (items, 50, 6) and queries (items, 6) to logits (items, 20)."""
    stories = keras.Input((MEMORY, SENTENCE), dtype="int32")
    queries = keras.Input((SENTENCE,), dtype="int32")
    return keras.Model((stories, queries), Memory()(stories, queries))


def cross_entropy(logits: Any, answers: Any) -> Any:
    """Softmax cross-entropy, summed over the items."""
    return ops.sum(ops.sparse_categorical_crossentropy(answers, logits, from_logits=True))


class Story(NamedTuple):
    """Sentences in order, a question and its answer."""

    sentences: list[str]
    query: str
    answer: str


def made_story(rng: np.random.Generator) -> Story:
    """A story of people who change places, with a question for the place of one of them."""
    length = rng.integers(2, MEMORY, endpoint=True)
    sentences, places = [], {}
    for person, move, place in rng.integers((len(PEOPLE), len(MOVES), len(PLACES)), size=(length, 3)):
        sentences.append(f"{PEOPLE[person]} {MOVES[move]} to the {PLACES[place]}")
        places[PEOPLE[person]] = PLACES[place]
    name = sorted(places)[rng.integers(len(places))]
    return Story(sentences, f"where is {name}", places[name])


def encode_words(sentence: str) -> np.ndarray:
    """The words of a sentence as numbers, padded with nil: (6,)."""
    numbers = [NUMBER[word] for word in sentence.split()]
    return np.array(numbers + [NIL] * (SENTENCE - len(numbers)), "int32")


def encode_story(sentences: list[str]) -> np.ndarray:
    """A story as a memory, the last sentence first, padded with nil: (50, 6)."""
    memory = np.full((MEMORY, SENTENCE), NIL, "int32")
    memory[: len(sentences)] = [encode_words(sentence) for sentence in reversed(sentences)]
    return memory


def build(setting: Setting) -> Network:
    """The memory network and a batch of stories; both sizes are the same."""
    items = setting.item_count(ITEMS)

    def data(seed: int = setting.seed) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        rng = np.random.default_rng(seed)
        made = [made_story(rng) for _ in range(items)]
        stories = np.stack([encode_story(story.sentences) for story in made])
        queries = np.stack([encode_words(story.query) for story in made])
        return (stories, queries), np.array([NUMBER[story.answer] for story in made], "int32")

    optimizer = keras.optimizers.SGD(LEARNING_RATE, clipnorm=CLIP_NORM)
    return Network(memory_network(), data, cross_entropy, optimizer, items)
