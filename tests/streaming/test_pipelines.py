"""What users rely on in several pipelines at once: the future guard, a checkpoint a sink, one stopped while others run."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from anabranch.checkpoint.messages import OTHER_DURATION
from tests.support.harness import Project

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]


@pytest.fixture
def project(make_project: Callable[[str], Project], kafka: dict[str, str], topic: str) -> Project:
    project = make_project("project")
    names = ("visits-windows", "visits-counter", "visits-lake")
    sources = "".join(f'[pipeline.{name}]\ntopics = {{ source = "{topic}" }}\n' for name in names)
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{sources}')
    return project


def _visits(*times: str) -> str:
    return "".join(f'{{"visit_id": 1, "event_time": "{time}:00Z"}}\n' for time in times)


def _counts(project: Project, topic: str) -> dict[str, int]:
    values = [json.loads(line) for line in project.ok("consume", topic).splitlines()]
    return {value["window"]["start"][11:16]: value["count"] for value in values}


def test_one_event_from_the_future_loses_no_good_one(project: Project, topic: str) -> None:
    results = f"{topic}-results"
    project.ok("produce", topic, "--partition", "0", text=_visits("2025-09-04T07:00"))
    project.ok("run", "visits-windows", "--until-caught-up", "--to", f"topic:{results}")
    project.ok("produce", topic, "--partition", "0", text=_visits("2036-01-01T00:00"))
    project.ok("run", "visits-windows", "--until-caught-up", "--to", f"topic:{results}")
    project.ok("produce", topic, "--partition", "0", text=_visits("2025-09-04T07:01", "2025-09-04T07:12"))
    project.ok("run", "visits-windows", "--until-caught-up", "--to", f"topic:{results}")
    assert _counts(project, results) == {"07:00": 2, "07:10": 1}
    status = {(one["name"], one["sink"]): one for one in json.loads(project.ok("status", "--all", "--json"))["pipelines"]}
    assert status["visits-windows", f"topic-{results}"]["problems"] == 1
    # Each sink has a checkpoint of its own: the console's never ran.
    assert status["visits-windows", "console"]["last_batch"] is None


def test_one_pipeline_is_stopped_and_started_again_while_another_runs(project: Project, topic: str) -> None:
    project.ok("produce", topic, "--partition", "0", text=_visits("2025-09-04T07:00"))
    both = project.start("run", "visits-windows", "visits-lake")
    both.await_line(r"visits-lake: running .*lag 0")
    project.ok("stop", "visits-windows")
    project.ok("produce", topic, "--partition", "0", text=_visits("2025-09-04T07:01"))
    both.await_line(r"visits-lake: running .*2 rows")
    again = project("run", "visits-windows", "--until-caught-up")
    assert again.returncode == 0, again.stderr
    assert "{2025-09-04 07:00:00, 2025-09-04 07:10:00}|2" in again.stdout
    assert both.process.poll() is None
    project.ok("stop", "visits-lake")
    assert both.await_end() == 0


def test_another_window_or_watermark_on_an_old_checkpoint_is_refused(project: Project) -> None:
    toml = (project.directory / "anabranch.toml").read_text().split("[spark]")[0]
    project.ok("run", "visits-windows", "--until-caught-up")
    for what, now, before in (("window", "5m", "10m"), ("watermark", "1m", "20m")):
        changed = f'[pipeline.visits-windows]\n{what} = "{now}"\n'
        project.configure(toml.replace("[pipeline.visits-windows]\n", changed))
        refused = project("run", "visits-windows", "--until-caught-up")
        assert (refused.returncode, "refused[checkpoint-differs]" in refused.stderr) == (3, True), refused.stderr
        assert OTHER_DURATION(what=what, now=now, before=before).text in refused.stderr
