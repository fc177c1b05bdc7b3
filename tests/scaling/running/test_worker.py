"""What the process of a run imports before its first step, what it refuses, and how it says why it failed."""

import math
import subprocess
import sys

import pytest

from scaling.running import worker
from tests.scaling.running.fake_system import FakeSystem, Machine, child_spec


def test_the_worker_imports_nothing_heavy_before_it_has_checked_its_pinning():
    code = "import sys; import scaling.running.worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "scipy", "pydantic", "tensorflow", "importlib.metadata"} & set(loaded.stdout.split())


@pytest.mark.parametrize("items", [1, 7.0, 2**53])
def test_items_are_whole_numbers(items):
    assert worker._item_count(items) == items


@pytest.mark.parametrize("items", [0, -1, 0.5, 1.5, math.nan, math.inf, None, "many", 2**53 + 1, 10**400])
def test_items_that_cannot_be_are_refused(items):
    with pytest.raises(ValueError, match="the items_per_step of a workload must be a whole number of at least 1"):
        worker._item_count(items)


@pytest.mark.parametrize(
    ("losses", "ends"), [(None, (None, None)), ([], (None, None)), ([2], (2.0, 2.0)), ([3, 2, 1], (3.0, 1.0))]
)
def test_the_first_and_the_last_loss_are_kept(losses, ends):
    assert worker._ends(losses) == ends


@pytest.mark.parametrize("losses", [[1.0, math.nan], [math.inf, 1.0], ["high"], 7, {"a": 1}])
def test_losses_that_are_no_numbers_are_refused(losses):
    with pytest.raises(ValueError, match="the losses of a workload must be"):
        worker._ends(losses)


def error_of(code: str, *, name: str = "user.py") -> str:
    """The reason of a failure in a user's file."""
    try:
        exec(compile(code, name, "exec"), {})
    except BaseException as error:
        return worker.reason(error)
    raise AssertionError


def test_an_error_is_a_line_with_its_place_in_the_users_file():
    assert error_of("x = 1\n1 / 0") == "ZeroDivisionError: division by zero (user.py line 2)"
    assert error_of("raise ValueError") == "ValueError: no message (user.py line 1)"
    assert error_of("raise OSError('a\\n  b\\udcff')") == "OSError: a b\\xff (user.py line 1)"
    assert len(error_of("raise ValueError('x' * 9000)")) < 1100


def test_an_error_that_explains_itself_is_its_sentence():
    assert error_of("class E(Exception): explains_itself = True\nraise E('it is so')") == "it is so"


def test_a_missing_package_of_an_extra_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    of_torch = error_of("raise ModuleNotFoundError('', name='torch.nn')")
    of_keras = error_of("raise ModuleNotFoundError('', name='keras')")
    assert of_torch.startswith("it needs torch, which is not installed; ")
    assert of_keras.startswith("it needs keras, which is not installed; ")
    assert of_torch.endswith("'.[torch]'")
    assert of_keras.endswith("'.[torch]'")
    assert error_of("raise ModuleNotFoundError('none', name='other')").startswith("ModuleNotFoundError: none")


def test_a_process_on_other_cpus_than_requested_is_refused():
    with Machine(4) as machine:
        process = machine.add(0, [0, 1])
        assert worker._check_cpus(child_spec("0-1").request, FakeSystem(machine, process)) == {0, 1}
        with pytest.raises(RuntimeError, match="CPUs 0 were requested, but the kernel gave 0-1"):
            worker._check_cpus(child_spec("0").request, FakeSystem(machine, process))
