from itertools import pairwise

import keras
import numpy as np
import pytest
from keras import ops

from scaling.workloads import memnet
from scaling.workloads.base import Setting

SETTING = Setting("infer", "published", items=5, times=1, cores=1, smt=1, intra=0, inter=0, seed=1)


@pytest.fixture
def network():
    return memnet.build(SETTING)


def tables(network) -> tuple[list, list]:
    """The word tables and the temporal ones, as variables."""
    layer = network.model.layers[-1]
    return layer.words, layer.times


def spoil(table, rows: slice) -> None:
    values = table.numpy().copy()
    values[rows] = 1e3
    table.assign(values)


def logits(network) -> np.ndarray:
    return np.asarray(network.model(network.data()[0]))


def test_the_position_encoding_is_the_papers():
    encoding = memnet.position_encoding()
    assert encoding.shape == (6, 20)
    for j in range(1, 7):
        for k in range(1, 21):
            assert encoding[j - 1, k - 1] == pytest.approx((1 - j / 6) - (k / 20) * (1 - 2 * j / 6), abs=1e-6)


def test_the_tables_are_as_many_as_the_papers_formula_says(network):
    hops, width, vocabulary, memory = 3, 20, 20, 50
    assert network.model.count_params() == (hops + 1) * width * (vocabulary + memory) == 5_600


def test_tying_is_adjacent(network):
    """The paper's equations with its own names, item by item."""
    words, times = ([table.numpy().copy() for table in group] for group in tables(network))
    for table in words:
        table[0] = 0
    b, a, c, w = words[0], words[:3], words[1:], words[3].T
    encoding = memnet.position_encoding()
    (stories, queries), _ = network.data()
    for story, query, scores in zip(stories, queries, logits(network), strict=True):
        real = story[story.any(axis=1)]
        u = (b[query] * encoding).sum(axis=0)
        for hop in range(3):
            m = (a[hop][real] * encoding).sum(axis=1) + times[hop][: len(real)]
            o = (c[hop][real] * encoding).sum(axis=1) + times[hop + 1][: len(real)]
            p = np.exp(m @ u) / np.exp(m @ u).sum()
            u = u + p @ o
        assert scores == pytest.approx(u @ w, abs=1e-5)


def test_nil_words_contribute_nothing(network):
    before = logits(network)
    for table in tables(network)[0]:
        spoil(table, slice(memnet.NIL, memnet.NIL + 1))
    assert np.array_equal(logits(network), before)
    assert (before[:, memnet.NIL] == 0).all()


def test_empty_memories_get_no_attention(network):
    before = logits(network)
    longest = network.data()[0][0].any(axis=2).sum(axis=1).max()
    assert longest < memnet.MEMORY
    for table in tables(network)[1]:
        spoil(table, slice(longest, None))
    assert np.array_equal(logits(network), before)


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_is_the_last_place_a_person_went_to(seed):
    story = memnet.made_story(np.random.default_rng(seed))
    person = story.query.removeprefix("where is ")
    last = next(sentence for sentence in reversed(story.sentences) if sentence.startswith(person))
    assert last.endswith(f"to the {story.answer}")
    assert 2 <= len(story.sentences) <= memnet.MEMORY


def test_the_memory_holds_the_last_sentence_first():
    memory = memnet.encode_story(["john went to the garden", "mary went back to the office"])
    spelled = [[memnet.WORDS[number - 1] for number in row if number] for row in memory]
    assert spelled[:2] == [["mary", "went", "back", "to", "the", "office"], ["john", "went", "to", "the", "garden"]]
    assert not any(spelled[2:])


def test_words_are_nineteen_and_nil():
    assert memnet.VOCABULARY == 20
    assert len(set(memnet.WORDS)) == 19
    assert memnet.encode_words("where is john").tolist() == [18, 19, 2, 0, 0, 0]


def test_the_loss_is_summed_over_the_items():
    assert float(memnet.cross_entropy(np.zeros((7, 20), "float32"), np.arange(7))) == pytest.approx(7 * np.log(20))


class LookUpForEachTable(memnet.Memory):
    """The same hops, with words looked up in one table after another by Keras."""

    def call(self, stories, queries):
        tables = [table * self.real for table in self.words]
        filled = ops.any(ops.not_equal(stories, memnet.NIL), axis=2)
        memories = [self.of(stories, table) + time for table, time in zip(tables, self.times, strict=True)]
        state = self.of(queries, tables[0])
        for keys, values in pairwise(memories):
            state = state + memnet.read(state, keys, values, filled)
        return ops.matmul(state, ops.transpose(tables[-1]))

    def of(self, sentences, table):
        return ops.sum(ops.take(table, sentences, axis=0) * self.positions, axis=-2)


def test_one_look_up_learns_what_one_for_each_table_does(monkeypatch):
    from scaling.running.frameworks.tensorflow import CompiledStep

    def losses() -> list[float]:
        keras.utils.set_random_seed(1)
        step = CompiledStep(memnet.build(SETTING), "train", jit=False)
        step.prepare()
        taken = []
        for _ in range(20):
            step.step()
            taken.append(step.losses[-1])
        return taken

    ours = losses()
    monkeypatch.setattr(memnet, "Memory", LookUpForEachTable)
    assert ours == pytest.approx(losses(), rel=1e-5)
    assert ours[-1] < ours[0]
