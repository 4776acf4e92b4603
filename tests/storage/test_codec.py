"""The formats of our own files: what was written is read back, and what is not understood is refused, never guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.checkpoint.baseline import Baseline
from anabranch.checkpoint.baseline_file import BASELINE, read_baseline
from anabranch.checkpoint.history import BatchRecord, append_batch, append_rewind, newest_entry
from anabranch.checkpoint.messages import TOPIC_RECREATED
from anabranch.errors import AnabranchError, Failed, Reason, Refused
from anabranch.project.project import open_project
from anabranch.rewind.messages import START_WILL_BE_REFUSED
from anabranch.storage.files import CheckpointLocation, Format, read_text, write_whole
from anabranch.storage.lease import holder_of, take_lease
from anabranch.streaming.messages import TOPIC_COUNTS_GO_DOWN, TOPIC_EMITS_AGAIN, TOPIC_KEYS


@dataclass(frozen=True)
class Part:
    name: str
    size: int | None


@dataclass(frozen=True)
class Whole:
    mode: Literal["replay", "replan"]
    first: Part
    parts: tuple[Part, ...]
    ranges: Mapping[str, Mapping[int, tuple[int, int]]]
    seconds: float
    note: str | None = None


WHOLE = Format("whole", 3, Whole)
ONE = Whole("replay", Part("a", 1), (Part("b", None), Part("c", 2)), {"visits": {0: (5, 7)}}, 0.5, "été \x1b")
WRITTEN: dict[str, Any] = json.loads(WHOLE.encode(ONE))

parts = st.builds(Part, st.text(), st.none() | st.integers())
ranges = st.dictionaries(st.text(), st.dictionaries(st.integers(0, 9), st.tuples(st.integers(), st.integers())))
wholes = st.builds(
    Whole,
    st.sampled_from(["replay", "replan"]),
    parts,
    st.lists(parts, max_size=3).map(tuple),
    ranges,
    st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.text(),
)


@given(wholes, st.sampled_from([None, 2]))
def test_what_was_written_is_read_back(whole: Whole, indent: int | None) -> None:
    assert WHOLE.decode(WHOLE.encode(whole, indent), "a file") == whole


def test_a_file_begins_with_its_format_number_and_kind() -> None:
    assert list(WRITTEN)[:2] == ["format", "kind"]
    assert (WRITTEN["format"], WRITTEN["kind"]) == (3, "whole")
    assert WHOLE.encode(ONE).startswith('{"format": 3, "kind": "whole", ')


def without(name: str) -> str:
    return json.dumps({key: value for key, value in WRITTEN.items() if key != name})


def with_(**fields: object) -> str:
    return json.dumps({**WRITTEN, **fields})


NEWER = {
    "a higher format number": with_(format=4),
    "a lower format number": with_(format=2),
    "a format that is no number": with_(format="3"),
    "another kind": with_(kind="part"),
    "no kind": without("kind"),
    "an unknown field": with_(colour="red"),
    "an unknown field in a part": with_(first={"name": "a", "size": 1, "colour": "red"}),
    "an unknown field in one of a list": with_(parts=[{"name": "b", "size": None, "colour": "red"}]),
}
DAMAGED = {
    "no bytes": "",
    "not JSON": "hello",
    "truncated": WHOLE.encode(ONE)[:-5],
    "an array": "[]",
    "null": "null",
    "no format number": without("format"),
    "a format of null": with_(format=None),
    "a missing field": without("seconds"),
    "a missing field that has a default": without("note"),
    "a missing field in a part": with_(first={"name": "a"}),
    "a missing field in one of a list": with_(parts=[{"name": "b"}]),
    "a value of another type": with_(seconds="0.5"),
    "a value that is none of the choices": with_(mode="rewind"),
}


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        *(pytest.param(text, Refused, "format-newer", id=name) for name, text in NEWER.items()),
        *(pytest.param(text, Failed, "file-damaged", id=name) for name, text in DAMAGED.items()),
    ],
)
def test_what_is_not_understood_is_refused_and_the_file_stays(
    tmp_path: Path, text: str, error: type[AnabranchError], code: str
) -> None:
    path = tmp_path / "whole.json"
    write_whole(path, text)
    with pytest.raises(error) as refused:
        WHOLE.decode(read_text(path) or "", str(path))
    assert refused.value.code == code
    assert refused.value.reason.params["path"] == str(path)
    assert path.read_text(encoding="utf-8") == text
    assert [one.name for one in tmp_path.iterdir()] == ["whole.json"]


@pytest.mark.parametrize(("name", "unknown"), [("an unknown field", "colour"), ("an unknown field in a part", "first.colour")])
def test_an_unknown_field_is_named_with_where_it_is(name: str, unknown: str) -> None:
    with pytest.raises(Refused) as refused:
        WHOLE.decode(NEWER[name], "a file")
    assert unknown in refused.value.reason.params["what"]


RAN = BatchRecord(0, "2025-09-04T07:00:00Z", 1, 0, None, True, 1.0, 20, None, None)
NEWER_HEAD = '{"format": 99, "kind": "of tomorrow"}'


@dataclass(frozen=True)
class Planned:
    why: Reason
    notes: tuple[Reason, ...]


def test_a_reason_is_read_back_with_the_reasons_in_it() -> None:
    """A plan that is read again says what it said when it was made."""
    keys = TOPIC_EMITS_AGAIN(topic="counts", about=[TOPIC_KEYS(keys=2), TOPIC_COUNTS_GO_DOWN()])
    planned = Planned(keys, (START_WILL_BE_REFUSED(difference=TOPIC_RECREATED(topic="visits")),))
    planned_format = Format("planned", 1, Planned)
    decoded = planned_format.decode(planned_format.encode(planned), "a plan")
    assert decoded.why.text == planned.why.text
    assert [note.text for note in decoded.notes] == [note.text for note in planned.notes]
    assert decoded == planned


# Who writes a file of ours reads it first.
WRITERS: dict[str, Callable[[CheckpointLocation], object]] = {
    "history, by a batch": lambda location: append_batch(location, RAN),
    "history, by a rewind": lambda location: append_rewind(location, "an-operation", 3),
    "history, by a status": newest_entry,
    "lease, by a run": lambda location: take_lease(location, "visits-log", "run"),
    "lease, by a status": holder_of,
    "baseline, by a start": read_baseline,
}


@pytest.mark.parametrize("who", list(WRITERS))
def test_nobody_overwrites_a_file_of_a_newer_version(tmp_path: Path, who: str) -> None:
    location = CheckpointLocation(tmp_path / "console")
    files = {"history": location.history, "lease": location.lease, "baseline": location.baseline}
    path = files[who.partition(",")[0]]
    write_whole(path, f"{NEWER_HEAD}\n")
    with pytest.raises(Refused) as refused:
        WRITERS[who](location)
    assert (refused.value.code, refused.value.reason.params["path"]) == ("format-newer", str(path))
    assert path.read_text(encoding="utf-8") == f"{NEWER_HEAD}\n"


def test_a_project_of_a_newer_version_is_refused_as_a_whole(tmp_path: Path) -> None:
    mark = tmp_path / ".anabranch" / "project.json"
    write_whole(mark, NEWER_HEAD)
    with pytest.raises(Refused) as refused:
        open_project(tmp_path)
    assert refused.value.code == "format-newer"
    assert mark.read_text(encoding="utf-8") == NEWER_HEAD


def test_a_baseline_of_this_version_is_read_back(tmp_path: Path) -> None:
    location = CheckpointLocation(tmp_path / "console")
    assert read_baseline(location) is None
    baseline = Baseline(None, "kafka", {"visits": "an-id"}, "console", None, "UTC", 600, None, None, "2", "1h", (), {"abc": 0})
    write_whole(location.baseline, BASELINE.encode(baseline))
    assert read_baseline(location) == baseline
