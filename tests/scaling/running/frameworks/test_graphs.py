"""What becomes of a step as a CUDA graph, on tensors that only claim to be on a GPU: no device is needed."""

import weakref
from contextlib import contextmanager, nullcontext, suppress
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from scaling.running.frameworks.graphs import WARMUP_CALLS, Constants, GraphedFunction, Obstacles


class Stream:
    def wait_stream(self, other):
        pass


@pytest.fixture
def captures(monkeypatch):
    """A device that notes captures and replays and carries nothing out in them."""
    seen = []

    @contextmanager
    def graph(graph, stream):
        seen.append("capture")
        yield

    class Graph:
        def replay(self):
            seen.append("replay")

    fakes = {"Stream": Stream, "current_stream": Stream, "stream": lambda stream: nullcontext(), "CUDAGraph": Graph}
    for name, fake in {**fakes, "graph": graph}.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    return seen


def test_the_first_call_warms_up_and_captures_and_later_ones_replay_on_the_same_memory(captures):
    calls = []
    graphed = GraphedFunction(lambda batch: calls.append(batch["x"].clone()) or torch.tensor(float(len(calls))))
    first = torch.ones(3)
    assert graphed({"x": first}).item() == 1.0
    assert len(calls) == WARMUP_CALLS + 2  # one is watched, one captured
    graphed({"x": first})
    assert captures == ["capture", "replay"]
    graphed({"x": torch.full((3,), 7.0)})
    assert first.tolist() == [7.0] * 3
    assert len(calls) == WARMUP_CALLS + 2
    assert graphed.how == "one CUDA graph"


def test_a_step_that_cannot_be_captured_goes_on_op_by_op_and_says_why(captures, monkeypatch):
    @contextmanager
    def fails(graph, stream):
        try:
            yield
            raise RuntimeError("operation not permitted\nwhen stream is capturing")
        finally:
            raise RuntimeError("operation failed due to a previous error during capture")

    states = []
    used = SimpleNamespace(device="cpu", initial_seed=lambda: 5, graphsafe_set_state=states.append)
    fresh = SimpleNamespace(manual_seed=states.append, graphsafe_get_state=lambda: "a state of its own")
    monkeypatch.setattr(torch.cuda, "graph", fails)
    monkeypatch.setattr(torch.cuda, "default_generators", [used])
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch, "Generator", lambda device: fresh)
    graphed = GraphedFunction(lambda x: x + 1)
    results = [graphed(torch.ones(1)).item() for _ in range(3)]
    assert results == [2.0] * 3
    assert graphed.how == "op by op: operation not permitted when stream is capturing"
    assert states == [5, "a state of its own"]


def test_what_the_building_of_a_network_left_is_gone_before_the_first_step(captures):
    class Loop:
        pass

    loop = Loop()
    loop.itself, left = loop, weakref.ref(loop)
    del loop
    graphed = GraphedFunction(lambda x: x + (left() is not None))
    assert graphed(torch.zeros(1)).item() == 0.0


def test_a_step_that_changes_its_constants_is_not_captured(captures):
    graphed = GraphedFunction(lambda x: x + torch.tensor(1.0).add_(1))
    for _ in range(3):
        graphed(torch.ones(1))
    assert captures == []
    assert graphed.how == "op by op: a CUDA graph cannot hold a constant that it changes"


def test_numbers_of_the_host_become_tensors_once():
    with Constants():
        one, same = torch.as_tensor(0.5), torch.as_tensor(0.5)
        array, equal = torch.tensor(np.arange(3)), torch.tensor(np.arange(3))
        others = [torch.as_tensor(0.5, dtype=torch.float64), torch.as_tensor(1), torch.as_tensor(True)]
        tensor = torch.as_tensor(one)
    assert one is same
    assert array is equal
    assert [other.dtype for other in others] == [torch.float64, torch.int64, torch.bool]
    assert tensor is one


@pytest.mark.parametrize(
    ("step", "names"),
    [
        (lambda x: x * 2.0 + torch.rand_like(x), ()),
        (lambda x: x * torch.tensor(2.0), ()),  # a number of the host that a kernel takes as an argument
        (lambda x: x.to("cpu"), ("_to_copy",)),
        (lambda x: torch.tensor([0, 1], device="cuda"), ("_to_copy",)),
        (lambda x: x.sum().item(), ("_local_scalar_dense",)),
    ],
)
@pytest.mark.parametrize("without_gradients", [False, True])
def test_what_waits_for_a_device_or_copies_from_the_host_is_an_obstacle(step, names, without_gradients):
    names = (
        tuple({"_to_copy": "to", "_local_scalar_dense": "item"}[name] for name in names) if without_gradients else names
    )
    with torch.inference_mode(without_gradients), FakeTensorMode():
        x = torch.empty(3, device="cuda")
        with Obstacles() as obstacles, suppress(DataDependentOutputException):  # what has no data has no value
            step(x)
    assert obstacles.seen == names
