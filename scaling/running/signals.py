"""Requests to stop the program: Ctrl-C, SIGTERM, SIGHUP.

Python raises a request wherever the main thread is: lost in a destructor, and in a library with a lock held.
"""

import signal
from collections.abc import Callable
from types import FrameType

REQUESTS_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Requests that come within the block are raised by `check`, as KeyboardInterrupt.

    With `at_once` they are also raised immediately; `check` raises them again if that had no effect. Without it, `wake`
    is called to wake a waiting thread, and only a second Ctrl-C is raised immediately.
    """

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self.wake: Callable[[], None] = lambda: None
        self._requested = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> "StopRequests":
        for number in REQUESTS_TO_STOP:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:  # as under nohup
                self._before[number] = before
                signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a request has come."""
        if self._requested:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        impatient = self._requested and number == signal.SIGINT
        self._requested = True
        if self.at_once or impatient:
            raise KeyboardInterrupt
        self.wake()
