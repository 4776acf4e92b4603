"""The UI of a run: what pipelines print, and one live line for each of them that neither hides nor interrupts it.

On a terminal both go through one rich console. Redirected, stdout carries the pipelines' lines alone, whole.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from threading import Lock
from time import monotonic

from rich.console import Console
from rich.live import Live
from rich.text import Text

from anabranch.cli.output import Cli, stderr
from anabranch.cli.progress import Phase
from anabranch.errors import Reason
from anabranch.project.session import Count
from anabranch.streaming.failures import OutputClosedError
from anabranch.streaming.run_progress import RunProgress
from anabranch.text.format import escape_lines

# Off a terminal: a line now and then, and when a state changes or a pipeline has caught up, but not for every batch.
_PLAIN_LINE_S = 10.0
_CHANGE_LINE_S = 1.0


class LiveRun:
    def __init__(self, cli: Cli) -> None:
        self._cli = cli
        self._lock = Lock()
        self._console = Console() if sys.stdout.isatty() else stderr()
        self._live: Live | None = None
        # The reader has gone, as `| head` does.
        self.is_output_closed = False
        self._said_at_s = 0.0
        self._said: Sequence[tuple[str, str, bool]] = []

    def tell(self, reason: Reason) -> None:
        if self._live is None:
            self._cli.tell(reason)
        elif not self._cli.quiet:
            # Above the live lines, on the console that draws them.
            with self._lock:
                self._console.print(Text(f"{escape_lines(reason.text)}."), soft_wrap=True, highlight=False)

    def busy(self, what: str, hint: str = "") -> AbstractContextManager[Phase]:
        return self._cli.busy(what, hint)

    def counting(self, what: str) -> AbstractContextManager[Count]:
        return self._cli.counting(what)

    def out(self, lines: str) -> None:
        with self._lock:
            if self._live is not None and sys.stdout.isatty():
                self._console.print(Text(lines.rstrip("\n")), soft_wrap=True, highlight=False)
            else:
                try:
                    sys.stdout.write(lines)
                    sys.stdout.flush()
                except BrokenPipeError:
                    self.is_output_closed = True
                    raise OutputClosedError from None

    def show(self, pipelines: Sequence[RunProgress]) -> None:
        if self._cli.quiet:
            return
        if self._console.is_terminal:
            self._show_live(pipelines)
        else:
            self._show_plain(pipelines)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _show_live(self, pipelines: Sequence[RunProgress]) -> None:
        if self._live is None:
            # Redirection off: with it rich would swallow a stdout that goes to a file.
            self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        with self._lock:
            lines = Text("\n", overflow="ellipsis", no_wrap=True).join(_line(progress) for progress in pipelines)
            self._live.update(lines, refresh=True)

    def _show_plain(self, pipelines: Sequence[RunProgress]) -> None:
        states = [(progress.state, _news(progress), progress.lag == 0) for progress in pipelines]
        passed_s = monotonic() - self._said_at_s
        changed = [i for i, state in enumerate(states) if i >= len(self._said) or state != self._said[i]]
        moved = any(i >= len(self._said) or states[i][:2] != self._said[i][:2] for i in changed)
        if not (moved or passed_s >= _PLAIN_LINE_S or (changed and passed_s >= _CHANGE_LINE_S)):
            return
        for i, progress in enumerate(pipelines):
            if passed_s >= _PLAIN_LINE_S or i in changed:
                self._cli.say(progress.describe())
        self._said, self._said_at_s = states, monotonic()


def _line(progress: RunProgress) -> Text:
    return Text(escape_lines(progress.describe()), style="bold red" if progress.is_alarming else "dim")


def _news(progress: RunProgress) -> str:
    """What is said at once when it changes."""
    return f"{progress.note}{' late' if progress.late else ''}{' all late' if progress.is_all_late else ''}"
