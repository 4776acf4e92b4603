"""A stream of browsers whose results are spoiled, audited and repaired: one for all tests of repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic, sleep

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import Received, read_records
from tests.support.audits import audit, key_of, send_results, visits
from tests.support.harness import PATIENCE_S, Project
from tests.support.remedies import paste, shell_command

# In update mode, with two columns in its key.
NAME = "browsers-stateful"
RUN = ("run", "visits-lake", NAME)
FIREFOX = {hour: key_of(f"0{hour}:00", browser="Firefox") for hour in range(1, 9)}


@dataclass
class Repairs:
    """Two visits of Firefox and one of Opera in each hour from 1 to 8: all these windows are closed."""

    project: Project
    source: str
    kafka: Mapping[str, str]

    @property
    def topic(self) -> str:
        return f"{self.source}-browsers"

    def start(self) -> None:
        # Several partitions: a result must be in that of its key.
        KafkaAdmin(self.kafka).create(self.topic, 3)
        self.configure()
        self.produce([f"0{hour}:0{minute}" for hour in FIREFOX for minute in (1, 2)], "Firefox")
        self.produce([*(f"0{hour}:01" for hour in FIREFOX), "09:00"], "Opera")
        self.project.ok(*RUN, "--until-caught-up")

    def configure(self, more: str = "") -> None:
        self.project.configure(
            f"""
            [kafka]
            bootstrap_servers = "{self.kafka["bootstrap.servers"]}"
            [pipeline.visits-lake]
            topics = {{ source = "{self.source}" }}
            trigger = "1s"
            [pipeline.visits-counter]
            topics = {{ source = "{self.source}", sink = "{self.source}-counts" }}
            [pipeline.{NAME}]
            topics = {{ source = "{self.source}", sink = "{self.topic}" }}
            trigger = "1s"
            {more}
            """
        )

    def produce(self, times: list[str], browser: str, partition: int = 0) -> None:
        self.project.ok("produce", self.source, "--partition", str(partition), text=visits(times, browser))

    def results(self) -> list[Received]:
        return sorted(read_records(KafkaAdmin(self.kafka), self.topic), key=lambda one: (one.partition, one.offset))

    def came(self, before: list[Received]) -> list[Received]:
        known = {(one.partition, one.offset) for one in before}
        return [one for one in self.results() if (one.partition, one.offset) not in known]

    def await_result(self, start: str, browser: str) -> None:
        key, deadline_s = key_of(start, browser=browser), monotonic() + PATIENCE_S
        while key not in {one.key_text for one in self.results()}:
            assert monotonic() < deadline_s, f"{key} was not emitted"
            sleep(0.2)

    def spoil(self, *keys: str, value: str | None = '{"count":9}') -> None:
        send_results(self.kafka, self.topic, dict.fromkeys(keys, value))

    def audit(self, *options: str) -> str:
        """The id of a new one."""
        audit(self.project, NAME, *options)
        return self.newest_audit()

    def newest_audit(self) -> str:
        return max(path.name for path in self.project.directory.glob(f".anabranch/audits/{NAME}/*/*"))

    def operations(self) -> set[str]:
        return {path.name for path in self.project.directory.glob(".anabranch/operations/*")}

    def refused(self, code: str, *options: str, exit_code: int = 3) -> str:
        """What was said. Nothing was sent."""
        before = self.results()
        done = self.project("repair", NAME, *options)
        assert (done.returncode, f"[{code}]" in done.stderr) == (exit_code, True), done.stderr
        assert self.came(before) == []
        return done.stderr

    def repair_as_told(self, said: str) -> tuple[int, bool]:
        """The remedy of a refusal: its exit code, and whether there was nothing to repair."""
        command = shell_command(said, f"anabranch repair {NAME}").partition("   ")[0]
        done = paste(self.project, f"{command} --yes")
        return done.returncode, "Nothing to repair." in done.stderr.splitlines()
