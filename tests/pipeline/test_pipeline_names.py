"""An unknown pipeline name is rejected with a suggestion."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import Misused
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import find_pipeline
from anabranch.project.project import open_project


def test_an_unknown_pipeline_is_rejected_with_the_nearest_name() -> None:
    with pytest.raises(Misused) as error:
        find_pipeline(BUILTIN.pipelines, "visit-log")
    assert error.value.code == "unknown-pipeline"
    assert "did you mean visits-log?" in error.value.remedies
    assert [find_pipeline(BUILTIN.pipelines, pipeline.name) for pipeline in BUILTIN.pipelines] == list(BUILTIN.pipelines)


@pytest.mark.parametrize("pipeline", ["visits-windows", "browsers-stateless"])
def test_a_table_in_the_settings_of_a_pipeline_that_updates_is_rejected(pipeline: str, tmp_path: Path) -> None:
    (tmp_path / "anabranch.toml").write_text(f'[pipeline.{pipeline}]\ntable = "x"\n', encoding="utf-8")
    with pytest.raises(Misused) as error:
        open_project(tmp_path).pipeline(find_pipeline(BUILTIN.pipelines, pipeline))
    assert error.value.code == "sink-appends-only"
