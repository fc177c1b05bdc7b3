"""Progress of a sweep on the command line."""

from scaling.api import progress
from scaling.cli.printing import print_line, print_note


class Progress(progress.Progress):
    """Progress on stderr; sentences name options instead of arguments."""

    def line(self, line: str) -> None:
        """Print a line on stderr."""
        print_line(line)

    def note(self, sentence: str) -> None:
        """Print a sentence on stderr."""
        print_note(sentence)
