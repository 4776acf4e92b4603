"""An unknown pipeline name is rejected with a suggestion."""

from __future__ import annotations

import pytest

from anabranch.errors import Misused
from anabranch.pipeline.catalog import PIPELINES, find_pipeline


def test_an_unknown_pipeline_is_rejected_with_the_nearest_name() -> None:
    with pytest.raises(Misused) as error:
        find_pipeline("visit-log")
    assert error.value.code == "unknown-pipeline"
    assert "did you mean visits-log?" in error.value.remedies
    assert [find_pipeline(pipeline.name) for pipeline in PIPELINES] == list(PIPELINES)
