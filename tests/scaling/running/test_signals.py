"""Requests to stop, and when they are raised."""

import signal
import weakref

import pytest

from scaling.running.signals import REQUESTS_TO_STOP, StopRequests


@pytest.fixture(autouse=True)
def as_before():
    before = {number: signal.getsignal(number) for number in REQUESTS_TO_STOP}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", REQUESTS_TO_STOP)
def test_at_once_every_signal_raises_what_ctrl_c_raises(number):
    with StopRequests(at_once=True), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_a_hangup_that_nohup_has_ignored_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with StopRequests(at_once=True) as requests:
        signal.raise_signal(signal.SIGHUP)
        requests.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_request_that_python_swallows_is_raised_by_the_next_check():
    class Thing:
        pass

    with StopRequests(at_once=True) as requests:
        thing = Thing()
        watched = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGTERM))
        del thing
        assert watched() is None
        with pytest.raises(KeyboardInterrupt):
            requests.check()


def test_otherwise_requests_wait_for_a_check_and_wake_whoever_waits():
    woken = []
    with StopRequests(at_once=False) as requests:
        requests.wake = lambda: woken.append("woken")
        requests.check()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            requests.check()
    assert woken == ["woken", "woken"]


def test_ctrl_c_a_second_time_does_not_wait():
    with StopRequests(at_once=False):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_afterwards_signals_mean_what_they_meant():
    before = [signal.getsignal(number) for number in REQUESTS_TO_STOP]
    with StopRequests(at_once=False):
        assert signal.getsignal(signal.SIGTERM) not in before
    assert [signal.getsignal(number) for number in REQUESTS_TO_STOP] == before
