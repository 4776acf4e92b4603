"""What the doctor says of a project."""

from __future__ import annotations

import json

from tests.support.harness import Project


def test_the_doctor_says_where_others_may_read_what_a_project_keeps(project: Project) -> None:
    home = project.directory / ".anabranch"
    home.mkdir()
    for mode, level, remedy in ((0o755, "slow", f"chmod 700 {home}"), (0o700, "ok", None)):
        home.chmod(mode)
        results = {one["check"]: one for one in json.loads(project("doctor", "--json").stdout)}
        assert (results["privacy"]["level"], results["privacy"]["remedy"]) == (level, remedy)
