"""Runs commands in processes that are killed right before their n-th effect, whatever code has it.

All effects on files and tables are in few functions, so a profiler hook that counts their calls finds each of them without a
change to the code. Processes are forked from one that has loaded everything: a command then takes milliseconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import CodeType, FrameType
from typing import Any

NEVER = -1


class Effects:
    """A server of such processes; `run` says how one ended, and how many effects it had."""

    def __enter__(self) -> Effects:
        command = [sys.executable, "-m", "tests.support.effects"]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def run(self, *arguments: str, kill_before: int = NEVER) -> tuple[int, int, str]:
        """The exit code (-9: killed), the number of effects, and what was printed."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps([arguments, kill_before]) + "\n")
        self._server.stdin.flush()
        code, count, said = json.loads(self._server.stdout.readline())
        return code, count, said


def _effects() -> set[CodeType]:
    from anabranch.delta import table
    from anabranch.storage import files
    from anabranch.storage.local import LocalStorage

    functions: list[Any] = [files.write_whole, files.append_line, files.remove, table.delete_rows, table.restore_rows]
    functions += [LocalStorage.create, LocalStorage.move, LocalStorage.sync]
    return {function.__code__ for function in functions}


def _serve() -> None:
    from anabranch.cli import main

    # Loaded before the fork.
    adapters = ("kafka.records", "kafka.embedded.broker")
    for name in (*adapters, "rewind.apply", "rewind.inspect", "recovery.resume", "streaming.status"):
        __import__(f"anabranch.{name}")
    effects = _effects()
    for line in sys.stdin:
        arguments, kill_before = json.loads(line)
        out, sending = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(sending, 1)
            os.dup2(sending, 2)
            _killed(main.run_command, arguments, effects, kill_before)
        os.close(sending)
        with os.fdopen(out, encoding="utf-8", errors="replace") as pipe:
            said = pipe.read()
        status = os.waitpid(child, 0)[1]
        # Behind what was printed; a process that was killed has not said it.
        text, _, count = said.partition("\0")
        sys.stdout.write(json.dumps([os.waitstatus_to_exitcode(status), int(count or 0), text]) + "\n")
        sys.stdout.flush()


def _killed(run: Any, arguments: list[str], effects: set[CodeType], kill_before: int) -> None:
    count = 0

    def hook(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        if event == "call" and frame.f_code in effects:
            if count == kill_before:
                os.kill(os.getpid(), 9)
            count += 1

    sys.setprofile(hook)
    code = run(arguments)
    sys.setprofile(None)
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(1, f"\0{count}".encode())
    os._exit(code)


if __name__ == "__main__":
    _serve()
