"""A project in a directory of its own, and the real command in a real process: what tests see of Anabranch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from codecs import getincrementaldecoder
from pathlib import Path
from time import monotonic, sleep
from typing import TextIO

from anabranch.project.session import SHORT_RUN_SECTION
from anabranch.spark.session import SHORT_RUN_OPTIONS, Session
from tests.support import in_process

# Longer than anything takes on a busy machine of 2 cores: a test that waits so long has failed.
PATIENCE_S = 120.0
QUICK_JVM = {"ANABRANCH_SPARK": json.dumps({"driver.extraJavaOptions": SHORT_RUN_OPTIONS})}


# Permissions bind root too where it may not override them: `Project.prefix`.
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner") if os.geteuid() == 0 else ()


def python_path(directory: Path) -> str:
    """The directory in front of what PYTHONPATH names. An empty entry would mean the current directory."""
    return os.pathsep.join([str(directory), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])


def await_file(path: Path) -> None:
    """Until another process has written it."""
    deadline_s = monotonic() + PATIENCE_S
    while not path.exists():
        assert monotonic() < deadline_s, f"{path} was not written"
        sleep(0.05)


class Running:
    """A command that runs, its two outputs collected line by line as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.out: list[str] = []
        self.err: list[str] = []
        self._unread: tuple[list[str], list[str]] = ([], [])
        self._news = threading.Condition()
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines, unread), daemon=True)
            for stream, lines, unread in zip((process.stdout, process.stderr), (self.out, self.err), self._unread, strict=True)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: TextIO, lines: list[str], unread: list[str]) -> None:
        decode, rest = getincrementaldecoder("utf-8")().decode, ""
        while chunk := os.read(stream.fileno(), 1 << 16):
            *whole, rest = (rest + decode(chunk)).split("\n")
            lines.extend(whole)
            # A question has no end of line: it waits for the answer. The blank behind it comes with it, or by itself.
            is_asked = rest.rstrip().endswith("[y/N]:") and not chunk.isspace()
            with self._news:
                unread.extend([*whole, rest] if is_asked else whole)
                self._news.notify_all()
        with self._news:
            lines.extend([rest] if rest else [])
            unread.extend([rest] if rest else [])
            self._news.notify_all()

    def await_line(self, pattern: str) -> str:
        """The next line that matches. Which output a line comes from first is chance: what is awaited of one skips none of the
        other."""
        deadline_s = monotonic() + PATIENCE_S
        while monotonic() < deadline_s:
            is_over = self.process.poll() is not None and not any(reader.is_alive() for reader in self._readers)
            with self._news:
                for unread in self._unread:
                    for number, line in enumerate(unread):
                        if re.search(pattern, line):
                            del unread[: number + 1]
                            return line
                if is_over:
                    break
                self._news.wait(0.2)
        raise AssertionError(f"no line matched {pattern!r}:\n" + "\n".join(self.out + self.err))

    def await_end(self) -> int:
        code = self.process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


class Project:
    """A directory in which commands run."""

    def __init__(self, directory: Path, session: Session | None = None) -> None:
        self.directory = directory
        # In front of every command.
        self.prefix: tuple[str, ...] = ()
        # Where it is set, commands that need Spark and are awaited run in this process.
        self.session = session
        self.started: list[Running] = []

    def configure(self, toml: str) -> None:
        (self.directory / "anabranch.toml").write_text(f"{toml}\n{SHORT_RUN_SECTION}", encoding="utf-8")

    def __call__(self, *command: str, text: str | bytes = "", **environment: str) -> subprocess.CompletedProcess[str]:
        if self.session is not None and command[0] in in_process.COMMANDS:
            assert (text, self.prefix) == ("", ()), "for a process of its own"
            return in_process.call(self.session, self.directory, command, environment)
        done = subprocess.run(
            [*self.prefix, sys.executable, "-P", "-m", "anabranch", *command],
            cwd=self.directory,
            input=text.encode() if isinstance(text, str) else text,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=PATIENCE_S,
            check=False,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def ok(self, *command: str, text: str | bytes = "", **environment: str) -> str:
        done = self(*command, text=text, **environment)
        assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, *command: str, stdin: int = subprocess.DEVNULL, **environment: str) -> Running:
        """In a process group of its own, as a shell starts it."""
        running = Running(
            subprocess.Popen(
                [*self.prefix, sys.executable, "-P", "-m", "anabranch", *command],
                cwd=self.directory,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, **environment},
                process_group=0,
            )
        )
        self.started.append(running)
        return running

    def end(self) -> None:
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
            running.await_end()
