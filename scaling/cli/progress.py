"""What a sweep says while it runs, in the words of the command line."""

from scaling.api import progress
from scaling.cli.printing import print_line, print_note


class Progress(progress.Progress):
    """Follows a sweep on stderr; sentences name options instead of arguments."""

    def line(self, line: str) -> None:
        """A line on stderr."""
        print_line(line)

    def note(self, sentence: str) -> None:
        """A sentence on stderr."""
        print_note(sentence)
