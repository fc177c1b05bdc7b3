"""The program `scaling`, also as `python -m scaling`; Ctrl-C ends it without a word while it imports or exits.

Python prints a traceback for a Ctrl-C in an import, and some libraries turn it into an error of their own. Commands
have Python's handling, since they clean up.
"""

import os
from types import FrameType

INTERRUPTED = 130
try:
    import signal
except KeyboardInterrupt:
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line."""
    if _ends_at_interrupts():
        try:
            _run_command()
        finally:
            signal.signal(signal.SIGINT, _end)
    else:
        _run_command()


def _ends_at_interrupts() -> bool:
    """End at Ctrl-C from now on, unless it is ignored, as in the background of a script; whether it is not."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            return False
        signal.signal(signal.SIGINT, _end)
        return True
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)


def _run_command() -> None:
    from scaling.cli.main import main as run_command

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command()


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
