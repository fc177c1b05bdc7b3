import signal

import pytest

from scaling.cli.measuring import stop_like_ctrl_c


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
