import signal

import pytest
import typer

from scaling.cli.measuring import interruptible, stop_like_ctrl_c


@pytest.fixture(autouse=True)
def as_before():
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_stops_like_ctrl_c():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    stop_like_ctrl_c(signal.SIGTERM, signal.SIGHUP)
    for number in (signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)


def test_a_hangup_that_nohup_has_ignored_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop_like_ctrl_c(signal.SIGTERM, signal.SIGHUP)
    signal.raise_signal(signal.SIGHUP)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_an_interrupt_that_comes_as_a_thread_starts_is_one_all_the_same(tmp_path, capsys):
    """Python's own threads make an error about a lock of it."""

    def starts_a_thread():
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(typer.Exit) as ended, interruptible(tmp_path, lambda: (3, 8)):
        starts_a_thread()
    assert ended.value.exit_code == 130
    assert "interrupted; 3 of 8 runs are kept" in capsys.readouterr().err


def test_an_error_that_no_interrupt_began_is_left_alone(tmp_path):
    with pytest.raises(RuntimeError, match="a mistake"), interruptible(tmp_path, lambda: (0, 0)):
        raise RuntimeError("a mistake")
