"""formats.md: every file that Anabranch writes and reads again: where it is, its kind, its format number, its fields."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import anabranch
from anabranch.storage.files import Format
from tools.reference.dataclass_tables import fields_table, with_parts
from tools.reference.markdown import code, escaped, table

_CHECKPOINT = ".anabranch/checkpoints/PIPELINE/SINK"
_PLAN = ".anabranch/operations/ID/plan.json"
_JOURNAL = f"{_CHECKPOINT}/_rewind/journal.json"
# Kind -> where, what. A format that is missing here, or gone from the code, fails the generation.
_PLACES = {
    "project": ((".anabranch/project.json",), "Which version of Anabranch wrote the project."),
    "baseline": ((f"{_CHECKPOINT}.baseline.json",), "What the checkpoint was created with; compared at every start."),
    "definition": ((f"{_CHECKPOINT}.definition.json",), "The pipeline that ran on the checkpoint, without its code."),
    "manifest": (
        (".anabranch/manifest.json",),
        "The topics and pipelines that the project's files declare, as they were last read, with a hash of each file.",
    ),
    "batch-history": (
        (f"{_CHECKPOINT}.history.jsonl",),
        "What each batch did. The first line holds format and kind; every other line is an entry.",
    ),
    "lease": ((f"{_CHECKPOINT}.lease",), "Which process runs the pipeline or operates on its checkpoint."),
    "rewind": ((_PLAN, _JOURNAL), "The plan of a rewind; as a journal, of the one under way."),
    "undo": ((_PLAN, _JOURNAL), "The plan of an undo; as a journal, of the one under way."),
    "reprocess": (
        (_PLAN,),
        "The plan of a reprocess. All its results are in `results.jsonl.gz` beside it, one line for each: key, what the topic"
        " held, what it should hold.",
    ),
    "repair": ((_PLAN,), "The plan of a repair, which has the fields of a reprocess."),
    "audit": (
        (".anabranch/audits/PIPELINE/SINK/ID/audit.json",),
        "What an audit found. All results that are wrong are in `found.jsonl.gz` beside it, one line for each, as `--json` has"
        " them.",
    ),
    "lake-proof": (
        (".anabranch/lake-proof-PIPELINE.json",),
        "For which offsets the lake that PIPELINE fills was proven complete: a reprocess proves only what came since."
        " Without it, it proves all.",
    ),
    "lake-rules": (
        (".anabranch/lake-rules-PIPELINE.json",),
        "By which rules the lake that PIPELINE fills was written, up to a version. Without it, its whole history is read"
        " again.",
    ),
    "receipt": ((".anabranch/operations/ID/receipt.json",), "How an operation ended. Without it, it is not finished."),
    "written-rows": (
        (),
        "Not a file: the parameters of the sink in the plan of a rewind whose sink is a table, without a number of their own.",
    ),
    "written-versions": ((), "The same of a table whose rows do not say which records they are from."),
    "broker": ((".anabranch/broker/broker.json",), "The process and the port of the embedded broker."),
}
# Written by us, and not by the codec.
_OTHERS = [
    (f"{_CHECKPOINT}.lease.lock", "The file lock of the lease; the system releases it when the process ends."),
    (f"{_CHECKPOINT}.stop", "An empty file: `anabranch stop` asks the run to end."),
    (f"{_CHECKPOINT}/offsets/N", "While an operation is under way: its fence, one line that no Spark can read."),
    (f"{_CHECKPOINT}/_rewind/ID/", "What a rewind set aside, under its relative path, with its closed journal and fence."),
    ("CHECKPOINT/_rewind/lock", "In a foreign checkpoint: the lock of an operation, instead of a lease."),
    (".anabranch/from-0.1.0/", "The originals of files that were migrated."),
    (".anabranch/set-aside/", "Checkpoints that were set aside by the command that a refusal printed."),
    (".anabranch/lake/visits/", "The Delta table of `visits-lake`."),
    (".anabranch/logs/", "Spark's log, one file for each run, reprocess and `checkpoint --state`."),
    (".anabranch/broker/", "Data, configuration and logs of the embedded broker."),
    (".anabranch/tmp/", "Spark's scratch files."),
    ("the file of `--ledger`", "One JSON line for each record that Kafka acknowledged, without a format number."),
]

_INTRODUCTION = """\
# Formats

Every file that Anabranch writes and reads again is JSON that begins with `format` and `kind`.
An unknown format number, kind or field is refused with the code `format-newer`; a missing field is `file-damaged`.
Nothing is defaulted, and a file that cannot be read is not overwritten.
[upgrading.md](../operating/upgrading.md) describes what happens between versions.

`SINK` is `console`, `topic-NAME` or `table-PATH`, with dashes for the slashes of the path, and then with a short hash of it.
`ID` is the id of an operation.
"""


def formats_page() -> str:
    return "\n".join(_sections())


def formats() -> list[Format[Any]]:
    """Every format that the code knows, by kind."""
    found: dict[str, Format[Any]] = {}
    for module in walk_packages(anabranch.__path__, "anabranch."):
        if not module.name.endswith("__main__"):
            found |= {one.kind: one for one in vars(import_module(module.name)).values() if isinstance(one, Format)}
    assert found.keys() == _PLACES.keys(), f"describe {found.keys() ^ _PLACES.keys()} in tools/reference/formats.py"
    return [found[kind] for kind in _PLACES]


def _sections() -> Iterator[str]:
    known = formats()
    yield _INTRODUCTION
    yield table(("kind", "format", "files", "content"), [_row(one) for one in known])
    yield "Other files:\n"
    yield table(("file", "content"), [(code(file) if "`" not in file else file, about) for file, about in _OTHERS])
    parts: dict[type, None] = {}
    for one in known:
        first, *held = with_parts(one.type)
        parts |= dict.fromkeys(held)
        yield f"## {one.kind}\n"
        yield fields_table(first)
    yield "## Parts of these\n"
    for part in sorted(parts, key=lambda kind: kind.__name__):
        yield f"### {part.__name__}\n"
        yield fields_table(part)


def _row(one: Format[Any]) -> tuple[str, ...]:
    files, about = _PLACES[one.kind]
    return (code(one.kind), str(one.number), "<br>".join(map(code, files)), escaped(about))
