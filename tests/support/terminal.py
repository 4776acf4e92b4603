"""A program in a terminal of its own, as a person sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from select import select
from time import monotonic

from tests.support.harness import PATIENCE_S


class Terminal:
    """Its stdin, stdout and stderr are one terminal."""

    def __init__(self, command: Sequence[str], directory: Path, **environment: str) -> None:
        self._keyboard, program = os.openpty()
        self.shown = b""
        self._seen = 0
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=program,
            stdout=program,
            stderr=program,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200", **environment},
            start_new_session=True,
        )
        os.close(program)

    def type(self, text: bytes) -> None:
        os.write(self._keyboard, text)

    def await_text(self, pattern: bytes) -> re.Match[bytes]:
        """The next occurrence in what is shown."""
        deadline_s = monotonic() + PATIENCE_S
        while (found := re.compile(pattern).search(self.shown, self._seen)) is None:
            if monotonic() > deadline_s or not self._read():
                self.process.kill()
                raise AssertionError(f"{pattern!r} was not shown:\n{self.shown!r}")
        self._seen = found.end()
        return found

    def await_end(self) -> int:
        while self._read():
            pass
        os.close(self._keyboard)
        return self.process.wait(PATIENCE_S)

    def _read(self) -> bool:
        """False: the program has closed its terminal."""
        if not select([self._keyboard], [], [], PATIENCE_S)[0]:
            return False
        try:
            chunk = os.read(self._keyboard, 65536)
        except OSError:  # so Linux tells the end
            return False
        self.shown += chunk
        return bool(chunk)


def anabranch(directory: Path, *arguments: str, **environment: str) -> Terminal:
    return Terminal([sys.executable, "-m", "anabranch", *arguments], directory, **environment)
