"""Requests to stop the program: Ctrl-C, SIGTERM, SIGHUP.

Python raises a request wherever the main thread happens to be. In a destructor that is the end of it, and in the middle
of a library it may leave a socket open, a lock taken, or a job that nobody knows the number of.
"""

import signal
from collections.abc import Callable
from types import FrameType

REQUESTS_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Requests that come within the block are raised by `check`, as KeyboardInterrupt.

    At once they are raised where they come as well, and are found by `check` if that was of no effect. Otherwise
    whoever waits is woken by `wake`, and only Ctrl-C a second time does not wait for a check.
    """

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self.wake: Callable[[], None] = lambda: None
        self._came = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> "StopRequests":
        for each in REQUESTS_TO_STOP:
            before = signal.getsignal(each)
            if before is not signal.SIG_IGN:  # as under nohup
                self._before[each] = before
                signal.signal(each, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def check(self) -> None:
        """Raise what has come."""
        if self._came:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        impatient = self._came and number == signal.SIGINT
        self._came = True
        if self.at_once or impatient:
            raise KeyboardInterrupt
        self.wake()
