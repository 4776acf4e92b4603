"""Each format that we write is read as it was written the first time: golden files, one for each kind and number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import AnabranchError
from anabranch.storage.files import Format
from tests.golden.samples import EARLIER, SAMPLES

FORMATS = Path(__file__).parent / "formats"


def golden(kind: Format[Any], number: int | None = None) -> Path:
    return FORMATS / f"{kind.kind}-{number or kind.number}.json"


@pytest.mark.parametrize(("kind", "value"), SAMPLES, ids=lambda one: getattr(one, "kind", ""))
def test_a_golden_file_is_read_and_written_as_it_was(kind: Format[Any], value: Any) -> None:
    text = golden(kind).read_text(encoding="utf-8")
    assert json.loads(text)["format"] == kind.number
    assert kind.decode(text, "golden") == kind.decode(kind.encode(value), "sample")
    assert json.loads(kind.encode(value)) == json.loads(text)
    assert next(iter(json.loads(kind.encode(value)))) == "format"


@pytest.mark.parametrize(("kind", "value"), SAMPLES, ids=lambda one: getattr(one, "kind", ""))
def test_a_field_more_a_field_less_and_another_number_are_refused(kind: Format[Any], value: Any) -> None:
    written = json.loads(kind.encode(value))
    fields = [name for name in written if name not in ("format", "kind")]
    for changed, code in (
        ({**written, "from_the_future": 1}, "format-newer"),
        ({**written, "format": kind.number + 1}, "format-newer"),
        ({**written, "kind": "something else"}, "format-newer"),
        *(({name: value for name, value in written.items() if name != gone}, "file-damaged") for gone in fields),
    ):
        with pytest.raises(AnabranchError) as refused:
            kind.decode(json.dumps(changed), "the file")
        assert refused.value.code == code, changed


@pytest.mark.parametrize(("kind", "number", "value"), EARLIER, ids=lambda one: getattr(one, "kind", ""))
def test_a_file_of_an_earlier_number_is_read_and_what_it_did_not_hold_is_not_known(
    kind: Format[Any], number: int, value: Any
) -> None:
    assert kind.decode(golden(kind, number).read_text(encoding="utf-8"), "golden") == value


def test_no_golden_file_is_without_a_sample() -> None:
    known = {golden(kind).name for kind, _ in SAMPLES} | {golden(kind, number).name for kind, number, _ in EARLIER}
    assert {path.name for path in FORMATS.iterdir()} == known
    assert {(kind.kind, number) for kind, _ in SAMPLES for number in kind.earlier} == {
        (kind.kind, number) for kind, number, _ in EARLIER
    }
