"""What is under way: what it is at, and for how long already. Live on a terminal; elsewhere lines, so that a log shows a wait.

A wait that says nothing looks like a hang: what lasts is named again every few seconds, from a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.project.session import Count

# A terminal's line shows the seconds; a line elsewhere costs a line of a log.
_LIVE_EVERY_S = 1.0
_LINE_EVERY_S = 5.0
# From here on it is worth saying how long, and where to look.
_LASTS_S = 3.0

Say = Callable[[str], None]
# Names what is being waited for now.
Phase = Callable[[str], None]


@contextmanager
def busy(console: Console, say: Say, what: str, hint: str) -> Iterator[Phase]:
    """A spinner on a terminal, lines elsewhere. `hint` is added to what lasts: where to look meanwhile."""
    started_s, at = monotonic(), ""

    def text() -> str:
        passed_s = monotonic() - started_s
        parts = [f"{what}: {at}" if at else what]
        if passed_s >= _LASTS_S:
            parts += [f"{passed_s:.0f} s so far", *([hint] if hint else [])]
        return ", ".join(parts)

    if _is_live(console):
        with console.status(_plain(what)) as status, _repeated(lambda: status.update(_plain(text())), _LIVE_EVERY_S):

            def phase(name: str) -> None:
                nonlocal at
                at = name
                status.update(_plain(text()))

            yield phase
        return
    say(f"{what} ...")
    with _repeated(lambda: say(f"{text()} ..."), _LINE_EVERY_S):

        def named(name: str) -> None:
            nonlocal at
            at = name

        yield named


@contextmanager
def counting(console: Console, say: Say, what: str, quiet: bool) -> Iterator[Count]:
    """A bar for things that are counted; nothing is shown before the first count."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    lines, is_live = _CountLines(say, what), _is_live(console)
    with Progress(*columns, console=console, disable=quiet or not is_live) as progress:
        task = progress.add_task(what, visible=False, total=None)

        def count(done: int, total: int, note: str = "") -> None:
            progress.update(task, description=f"{what}{note}", completed=done, total=total, visible=True)
            if not is_live:
                lines.count(done, total, note)

        if is_live:
            yield count
        else:
            with _repeated(lines.repeat, _LINE_EVERY_S):
                yield count


def _is_live(console: Console) -> bool:
    """A terminal that cannot go back in its line is told in lines, as a file is."""
    return console.is_terminal and not console.is_dumb_terminal


class _CountLines:
    """Off a terminal: a line at the start, at the end, at each tenth, and while nothing moves."""

    def __init__(self, say: Say, what: str) -> None:
        self._say, self._what = say, what
        self._lock = Lock()
        self._started_s = self._said_at_s = monotonic()
        self._tenth, self._text, self._is_done = -1, "", False

    def count(self, done: int, total: int, note: str) -> None:
        with self._lock:
            tenth = 10 * done // max(1, total)
            self._text, self._is_done = f"{self._what}: {done} of {total}{note}", done >= total
            if tenth != self._tenth:
                self._tenth, self._said_at_s = tenth, monotonic()
                self._say(self._text)

    def repeat(self) -> None:
        with self._lock:
            now_s = monotonic()
            if self._text and not self._is_done and now_s - self._said_at_s >= _LINE_EVERY_S:
                self._said_at_s = now_s
                self._say(f"{self._text}, {now_s - self._started_s:.0f} s so far ...")


@contextmanager
def _repeated(act: Callable[[], None], every_s: float) -> Iterator[None]:
    ended = Event()

    def repeat() -> None:
        while not ended.wait(every_s):
            act()

    thread = Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _plain(text: str) -> str:
    """Brackets in a path are no markup of rich."""
    return text.replace("[", r"\[")
