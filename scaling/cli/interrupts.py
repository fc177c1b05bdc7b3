"""Requests to end: whoever asks a measuring command to stop is answered as Ctrl-C is."""

import signal
from types import FrameType


def stop_like_ctrl_c(*signals: signal.Signals) -> None:
    """Have these signals raise what Ctrl-C raises."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for each in signals:
        signal.signal(each, interrupt)
