"""Where the demo runs: a new directory, and the real commands, each shown before it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import join
from time import monotonic
from typing import TypeVar

from anabranch.cli import messages
from anabranch.cli.output import write_line
from anabranch.errors import Failed

_PATIENCE_S = 120.0
Found = TypeVar("Found")


@dataclass
class Stage:
    directory: Path
    # Every visit that visits-log has printed so far, and the ledger of all that Kafka acknowledged.
    printed: list[str] = field(default_factory=list)

    @property
    def ledger(self) -> Path:
        return self.directory / "ledger.jsonl"

    def tell(self, text: str) -> None:
        for line in text.split("\n"):
            write_line(line)
        sys.stdout.flush()

    def failed(self, what: str) -> Failed:
        return messages.DEMO_FAILED(what=what, directory=str(self.directory))

    def configure(self) -> None:
        """The counting pipelines read a topic of their own."""
        from anabranch.project.session import SHORT_RUN_SECTION

        pipelines = "".join(
            f'[pipeline.{name}]\ntopics = {{ source = "clicks" }}\n' for name in ("visits-lake", "visits-counter")
        )
        (self.directory / "anabranch.toml").write_text(pipelines + SHORT_RUN_SECTION, encoding="utf-8")

    def new_project(self, name: str) -> Stage:
        """A project below this one, on the same broker, which its settings name as those of any Kafka."""
        from anabranch.project.kafka import cluster_of
        from anabranch.project.project import open_project
        from anabranch.project.session import SHORT_RUN_SECTION

        self.anabranch("init", name)
        address = cluster_of(open_project(self.directory)).address
        other = Stage(self.directory / name)
        with (other.directory / "anabranch.toml").open("a", encoding="utf-8") as settings:
            settings.write(f'\n[kafka]\nbootstrap_servers = "{address}"\n{SHORT_RUN_SECTION}')
        self.tell(f"\n$ cd {name}")
        return other

    def show_file(self, name: str) -> None:
        self.tell(f"\n$ cat {name}")
        self.tell((self.directory / name).read_text(encoding="utf-8").rstrip())

    def produce(self, topic: str, *times: str) -> None:
        """Sends one visit for each time of 4 September 2025, all together."""
        self._produce(topic, [f"2025-09-04T{time}:00" for time in times])

    def produce_ahead(self, topic: str, *, minutes: int, count: int) -> None:
        """Sends visits whose clock is ahead of ours."""
        first = datetime.now(UTC) + timedelta(minutes=minutes)
        self._produce(topic, [f"{first + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ}" for second in range(count)])

    def newest_batch(self, pipeline: str) -> int:
        return int(json.loads(self._quietly("checkpoint", pipeline, "--json", must_work=True))["newest_batch"])

    def _produce(self, topic: str, times: Sequence[str]) -> None:
        self.produce_lines(topic, [f'{{"visit_id": 1, "event_time": "{time}"}}' for time in times])

    def produce_lines(self, topic: str, lines: Sequence[str]) -> None:
        self.tell(f"\n$ anabranch produce {topic}")
        for line in lines:
            self.tell(f"> {line}")
        self._quietly("produce", topic, text="\n".join(lines), must_work=True)

    def await_values(self, topic: str, count: int) -> None:
        """Waits until a topic holds so many values, and shows the last."""
        values = self._until(lambda: self._values(topic), lambda values: len(values) >= count, f"{count} results in {topic}")
        self.tell(f"{topic}: {values[-1]}")

    def await_lake(self, rows: int) -> None:
        self._until(self._lake_rows, lambda found: found >= rows, f"{rows} rows in the lake")

    def _values(self, topic: str) -> list[str]:
        return self._quietly("consume", topic).splitlines()

    def _lake_rows(self) -> int:
        found = self._quietly("lake", "--json")
        return int(json.loads(found)["rows"]) if found else 0

    def _until(self, look: Callable[[], Found], is_there: Callable[[Found], bool], what: str) -> Found:
        deadline_s = monotonic() + _PATIENCE_S
        while not is_there(found := look()):
            if monotonic() > deadline_s:
                raise self.failed(f"{what} did not come within {_PATIENCE_S:.0f} s")
        return found

    def _quietly(self, *command: str, text: str = "", must_work: bool = False) -> str:
        """A command whose output is not part of the story. One that only reads may fail: it may be too early."""
        done = subprocess.run(
            [sys.executable, "-P", "-m", "anabranch", "-C", str(self.directory), *command],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if must_work and done.returncode != 0:
            raise self.failed(f"`anabranch {join(command)}`: {done.stderr.strip()}")
        return done.stdout if done.returncode == 0 else ""

    def anabranch(self, *command: str, ends_with: int = 0) -> None:
        """Shows a command, runs it, and waits for its end."""
        with self.started(*command) as process:
            pass
        if process.returncode != ends_with:
            raise self.failed(f"`anabranch {join(command)}` ended with {process.returncode}")

    @contextmanager
    def started(self, *command: str, piped: bool = False) -> Iterator[subprocess.Popen[str]]:
        """Shows and starts a command; it has ended when the block is left. An error in the block ends it."""
        self.tell(f"\n$ anabranch {join(command)}")
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "anabranch", "-C", str(self.directory), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if piped else None,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
        finally:
            process.wait()
