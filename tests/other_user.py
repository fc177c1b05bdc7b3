"""Another user of this machine: what functions and commands come to when they are theirs."""

import os
import pwd
import subprocess
from collections.abc import Callable
from typing import NoReturn


class OtherUser:
    def __init__(self, name: str) -> None:
        self.name = name
        self.uid = pwd.getpwnam(name).pw_uid

    def run(self, *command: str, **options) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            user=self.uid,
            group=self.uid,
            extra_groups=(),
            capture_output=True,
            text=True,
            check=False,
            **options,
        )

    def call(self, function: Callable[[], object]) -> str:
        """What a function of this process returns when they call it, as text; of an exception its name."""
        read_end, write_end = os.pipe()
        if os.fork() == 0:
            self._call_and_exit(function, write_end)
        os.close(write_end)
        with os.fdopen(read_end) as answer:
            text = answer.read()
        os.wait()
        return text

    def _call_and_exit(self, function: Callable[[], object], answer: int) -> NoReturn:
        try:
            os.setgroups([])
            os.setresgid(self.uid, self.uid, self.uid)
            os.setresuid(self.uid, self.uid, self.uid)
            text = str(function())
        except BaseException as error:
            text = type(error).__name__
        os.write(answer, text.encode())
        os._exit(0)
