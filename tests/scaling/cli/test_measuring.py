import pytest
import typer

from scaling.cli.measuring import interruptible


def kept() -> str:
    return "3 of 8 runs are kept in results"


def test_an_interrupt_that_comes_as_a_thread_starts_is_one_all_the_same(capsys):
    """Python's own threads make an error about a lock of it."""

    def starts_a_thread():
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(typer.Exit) as ended, interruptible(kept):
        starts_a_thread()
    assert ended.value.exit_code == 130
    assert "interrupted; 3 of 8 runs are kept in results: give the same command to go on" in capsys.readouterr().err


def test_an_error_that_no_interrupt_began_is_left_alone():
    with pytest.raises(RuntimeError, match="a mistake"), interruptible(kept):
        raise RuntimeError("a mistake")
