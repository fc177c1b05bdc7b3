"""A function mapped over items by several processes."""

import os
import signal

import pytest

from scaling.errors import StoreError
from scaling.results.processes import map_by_processes


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})


def test_processes_give_results_in_order_and_need_neither_function_nor_items_to_travel():
    found = list(map_by_processes(lambda make: (make(), os.getpid()), [lambda: 1, lambda: 2, lambda: 3]))
    assert [value for value, _ in found] == [1, 2, 3]
    assert os.getpid() not in {pid for _, pid in found}


def test_few_items_need_no_process():
    assert list(map_by_processes(lambda _: os.getpid(), [0, 0], least=3)) == [os.getpid()] * 2


def test_what_goes_wrong_in_a_process_goes_wrong_here():
    with pytest.raises(ZeroDivisionError):
        list(map_by_processes(lambda below: 1 / below, [1, 0, 1]))


def test_a_helper_that_is_killed_is_one_sentence():
    with pytest.raises(StoreError, match=r"was killed, .*;"):
        list(map_by_processes(lambda _: os.kill(os.getpid(), signal.SIGKILL), [1, 2, 3]))
