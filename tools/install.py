"""Installs what constraints.txt pins, and shows what pip is at: `PYTHON tools/install.py LOG PIP-ARGUMENT ...`.

Run by the Python to install into, before anything is installed: standard library only. pip writes its own output to LOG; of it
are shown what is being fetched, built and installed, how much of it is there, and how long it takes already. On a terminal
that is one live line, elsewhere a line at each change and every few seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from tempfile import mkdtemp
from threading import Thread
from time import monotonic
from typing import TextIO

_LIVE_EVERY_S = 0.2
_LINE_EVERY_S = 5.0
# What is over sooner is no line of a log: there are a hundred of them.
_CHANGE_EVERY_S = 1.0
# From here on it is said that pip says nothing: a network that hangs looks so, as does the building of a large wheel.
_SILENT_S = 30.0
_END_S = 5.0
_LAST_LINES = 15


@dataclass(frozen=True)
class Phase:
    """What pip is at: `text`, and what can be watched of it meanwhile."""

    text: str
    # The file that is being fetched, with its size as pip writes it.
    fetched: tuple[str, str] | None = None
    # How many packages are being installed.
    packages: int = 0


_SIGNS: tuple[tuple[str, Callable[[re.Match[str]], Phase]], ...] = (
    (
        r"\s*Downloading (?:\S*/)?(\S+)(?: \((.+)\))?$",
        lambda m: Phase(f"fetching {_package(m[1])}", fetched=(m[1], m[2] or "")),
    ),
    (r"\s*Using cached (?:\S*/)?(\S+)", lambda m: Phase(f"taking {_package(m[1])} from pip's cache")),
    (r"(?:Collecting|Obtaining|Processing) (\S+)", lambda m: Phase(f"looking for {m[1].rstrip('/').rpartition('/')[2]}")),
    (r"\s*Building wheel for (\S+).*: started", lambda m: Phase(f"building a wheel of {m[1]}")),
    (r"\s*Building editable for (\S+).*: started", lambda m: Phase(f"building {m[1]}")),
    (r"\s*(Installing build dependencies|Getting requirements|Preparing metadata).*: started", lambda m: Phase(m[1].lower())),
    (r"Installing collected packages: (.+)", lambda m: _installing(m[1].split(", "))),
)
_FILE_OF_PACKAGE = re.compile(r"(\w[\w.]*?)-(\d[^-]*?)(?:-.*)?\.(?:whl|tar\.gz|zip)(\.metadata)?")


def phase_of(line: str) -> Phase | None:
    """None: the line begins nothing."""
    return next((phase(found) for sign, phase in _SIGNS if (found := re.match(sign, line.rstrip()))), None)


def _package(file: str) -> str:
    found = _FILE_OF_PACKAGE.fullmatch(file)
    return f"{found[1]} {found[2]}" if found else file


def _installing(names: list[str]) -> Phase:
    return Phase(f"installing {len(names)} package{'' if len(names) == 1 else 's'}", packages=len(names))


class Display:
    def __init__(self, stream: TextIO) -> None:
        self._stream, self._is_live = stream, stream.isatty()
        self._started_s = monotonic()
        self._shown_s, self._phase = float("-inf"), ""

    def show(self, phase: str, detail: str) -> None:
        now_s = monotonic()
        every_s = _LIVE_EVERY_S if self._is_live else _CHANGE_EVERY_S if phase != self._phase else _LINE_EVERY_S
        if now_s - self._shown_s < every_s:
            return
        self._shown_s, self._phase = now_s, phase
        text = f"  {now_s - self._started_s:3.0f} s  {phase}{detail}"
        if self._is_live:
            # One line, however narrow the terminal: a wrapped one would not be overwritten.
            self._stream.write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def say(self, text: str) -> None:
        """A line of its own, which stays."""
        self._stream.write(f"\r\x1b[K{text}\n" if self._is_live else f"{text}\n")
        self._stream.flush()

    @property
    def elapsed_s(self) -> float:
        return monotonic() - self._started_s


class Watched:
    """pip's progress by its files: pip itself tells it only to a terminal."""

    def __init__(self, scratch_dir: Path) -> None:
        self._scratch_dir = scratch_dir
        self._packages_dir = Path(sysconfig.get_path("purelib"))
        self._installed_before = self._installed()

    def detail(self, phase: Phase) -> str:
        if phase.packages:
            return f": {max(0, self._installed() - self._installed_before)} there"
        if phase.fetched is None:
            return ""
        name, size = phase.fetched
        if not size.endswith("MB"):
            return ""
        try:
            fetched = max((file.stat().st_size for file in self._scratch_dir.rglob(name)), default=0)
        except OSError:  # pip has just moved it
            return f": {size}"
        return f": {fetched / 1e6:.1f} of {size}"

    def _installed(self) -> int:
        return sum(1 for _ in self._packages_dir.glob("*.dist-info"))


class Interrupted(Exception):
    """Ctrl-C, or the end of the terminal or of make."""


def install(log_file: Path, arguments: list[str], stream: TextIO) -> int:
    """pip's exit code."""
    display = Display(stream)
    scratch_dir = Path(mkdtemp(prefix="install-", dir=log_file.parent))
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    try:
        with log_file.open("w", encoding="utf-8") as log:
            pip = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "TMPDIR": str(scratch_dir), "PYTHONUNBUFFERED": "1"},
                # In a group of its own, with whatever it starts: all of it is ended together.
                start_new_session=True,
            )
            try:
                last = _follow(pip, log, display, Watched(scratch_dir))
            finally:
                _end(pip)
    finally:
        shutil.rmtree(scratch_dir, ignore_errors=True)
    if pip.returncode != 0:
        display.say(f"pip failed after {display.elapsed_s:.0f} s. The end of its output:")
        for line in last:
            display.say(f"  | {line}")
        display.say(f"All of it is in {log_file}.")
    else:
        display.say(f"Installed in {display.elapsed_s:.0f} s; pip's output is in {log_file}.")
    return pip.returncode


def _follow(pip: subprocess.Popen[str], log: TextIO, display: Display, watched: Watched) -> deque[str]:
    """Until pip ends. Its last lines."""
    lines: Queue[str | None] = Queue()
    Thread(target=_read, args=(pip, lines), daemon=True).start()
    phase, last, heard_s = Phase("starting pip"), deque[str](maxlen=_LAST_LINES), monotonic()
    while True:
        try:
            line = lines.get(timeout=_LIVE_EVERY_S)
        except Empty:
            silent_s = monotonic() - heard_s
            silence = f" (pip has said nothing for {silent_s:.0f} s)" if silent_s >= _SILENT_S else ""
            display.show(phase.text, watched.detail(phase) + silence)
            continue
        if line is None:
            pip.wait()
            return last
        heard_s = monotonic()
        log.write(line)
        last.append(line.rstrip())
        if line.startswith("WARNING: Retrying"):
            display.say(line.rstrip())
        if (begun := phase_of(line)) is not None:
            phase = begun
            display.show(phase.text, watched.detail(phase))


def _read(pip: subprocess.Popen[str], lines: Queue[str | None]) -> None:
    assert pip.stdout is not None
    for line in pip.stdout:
        lines.put(line)
    lines.put(None)


def _end(pip: subprocess.Popen[str]) -> None:
    """With all that it started. Nothing where it has ended by itself."""
    if pip.poll() is not None:
        return
    os.killpg(pip.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        pip.wait(_END_S)
    # A build may outlive pip.
    with suppress(ProcessLookupError):
        os.killpg(pip.pid, signal.SIGKILL)
    pip.wait()


def _interrupt(number: int, _frame: object) -> None:
    raise Interrupted(signal.Signals(number).name)


def main() -> int:
    log_file, *arguments = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        return install(Path(log_file), arguments, sys.stdout)
    except Interrupted as stopped:
        sys.stdout.write(f"\nInterrupted by {stopped}; pip was ended. Run the same command again: what was fetched is kept.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
