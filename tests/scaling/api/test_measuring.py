import pytest

from scaling.api.measuring import budget_seconds, interruptible
from scaling.errors import Interrupted


def progress() -> str:
    return "3 of 8 runs are kept in results"


def test_an_interrupt_that_comes_as_a_thread_starts_is_one_all_the_same():
    """Python's own threads make an error about a lock of it."""

    def starts_a_thread():
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(Interrupted) as ended, interruptible(progress):
        starts_a_thread()
    assert "interrupted; 3 of 8 runs are kept in results: give the same command to go on" in str(ended.value)


def test_an_error_that_no_interrupt_began_is_left_alone():
    with pytest.raises(RuntimeError, match="a mistake"), interruptible(progress):
        raise RuntimeError("a mistake")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("45s", 45), ("10m", 600), ("1h30m", 5400), ("1.5 h", 5400)])
def test_a_budget_is_written_as_people_do(text, seconds):
    assert budget_seconds(text) == seconds
