"""exit-codes.md, findings.md, refusals.md and notes.md: everything in the catalogues of messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module
from pkgutil import iter_modules

import anabranch
from anabranch.errors import Catalogue, ErrorMessage, Failed, Kind, Message, Misused, Refused
from tools.reference.markdown import bullets, code, remedy, table, template

_EXIT_CODES: dict[Kind, int] = {
    "failure": Failed.exit_code,
    "misuse": Misused.exit_code,
    "refusal": Refused.exit_code,
}
_PARAMETERS = "Names in braces are parameters; `--json` carries them beside the code.\n"

_ABOUT = {
    "audit": "Audits and explanations.",
    "check": "`anabranch check`.",
    "checkpoint": "Checkpoints, and what one was created with.",
    "cli": "The command line itself.",
    "delta": "Delta tables and the lake.",
    "errors": "What every part may meet.",
    "explanation": "`anabranch explain`.",
    "generator": "`anabranch generate`.",
    "kafka": "Clusters, topics, records, client properties and the embedded broker.",
    "lateness": "`anabranch lateness`.",
    "operations": "Operations of any kind: rewind, undo and reprocess.",
    "pipeline": "Pipelines and their sinks.",
    "project": "A project and its settings.",
    "repair": "Repairs, and records whose problem is gone.",
    "reprocess": "`anabranch reprocess`.",
    "rewind": "`anabranch rewind` and `anabranch undo`.",
    "spark": "Java, the jars and the JVM.",
    "storage": "Files of ours and their formats, leases, and what a file system must be able to do.",
    "streaming": "`anabranch run`, sinks and `anabranch status`.",
    "testing": "`anabranch.testing`.",
    "text": "Values that are typed: durations and times.",
}


def catalogue() -> dict[str, list[Message]]:
    """Every message by package, in the order of its file."""
    found: dict[str, list[Message]] = {}
    for module in iter_modules(anabranch.__path__):
        if module.ispkg and any(below.name == "messages" for below in iter_modules([f"{anabranch.__path__[0]}/{module.name}"])):
            found[module.name] = _messages_of(f"anabranch.{module.name}.messages")
    found = dict(sorted({**found, "errors": _messages_of("anabranch.errors")}.items()))
    listed = {message.code for messages in found.values() for message in messages}
    assert listed == Catalogue.messages.keys(), f"not in a messages.py: {Catalogue.messages.keys() - listed}"
    return found


def _messages_of(module: str) -> list[Message]:
    return [_message(value) for value in vars(import_module(module)).values() if isinstance(value, Message | ErrorMessage)]


def _message(value: Message | ErrorMessage[Failed | Misused | Refused]) -> Message:
    return value if isinstance(value, Message) else value.message


def exit_codes_page() -> str:
    rows = [
        ("0", "done", "Also: a run that ended by Ctrl-C, SIGTERM or `anabranch stop`; a plan shown by `--dry-run`."),
        (str(Failed.exit_code), "failed", "Something outside failed: no broker, no disk space, no answer."),
        (str(Misused.exit_code), "usage or settings", "The command or a setting is wrong."),
        (str(Refused.exit_code), "refused", "It would do harm, or you declined. Nothing was changed."),
        (
            "4",
            "findings",
            "`anabranch checkpoint`: something is wrong with it. `anabranch check`: something is wrong with a pipeline."
            " `anabranch status`: a pipeline cannot start, an operation is not finished, or a file of ours cannot be read."
            " Nothing failed.",
        ),
        ("130", "interrupted", "Ctrl-C at a prompt or outside of a run; a second Ctrl-C in a run."),
    ]
    return f"""\
# Exit codes

{table(("code", "meaning", "when"), rows)}
`anabranch doctor` exits with 1 if a check is bad.
`anabranch broker status` exits with 1 if the broker does not answer.

An error is printed on stderr as `label[code]: text`, followed by one line `-> remedy` for each remedy.
The label is `error` (exit code 1), `usage` (2) or `refused` (3).
[refusals.md](refusals.md) lists every code.
With `--json` the error is printed on stdout too, as shown in [json.md](json.md).
"""


def findings_page() -> str:
    return f"""\
# Findings

The codes are stable.
{_PARAMETERS}
## Of a checkpoint

`anabranch checkpoint` reports what is wrong with a checkpoint: file, code, what Spark would do, and a remedy.
Where the text or the remedy is a parameter, one of the [notes of checkpoints](notes.md#checkpoint) stands there.

{_findings("checkpoint")}
## Of a pipeline

`anabranch check` reports what is wrong with a pipeline: file, line, code, and a remedy.

{_findings("check")}
"""


def _findings(package: str) -> str:
    found = [message for message in catalogue()[package] if message.kind == "finding"]
    return table(("code", "text", "remedy"), [(code(one.code), template(one.text), _remedies(one)) for one in found])


def refusals_page() -> str:
    return "\n".join(_refusals())


def _refusals() -> Iterator[str]:
    yield "# Errors and refusals\n"
    yield "Every message that ends a command, by package."
    yield "[exit-codes.md](exit-codes.md) explains the exit codes."
    yield _PARAMETERS
    for package, messages in _having(_EXIT_CODES):
        rows = [(code(one.code), str(_EXIT_CODES[one.kind]), template(one.text), _remedies(one)) for one in messages]
        yield f"## {package}\n\n{_ABOUT[package]}\n"
        yield table(("code", "exit", "text", "what to do"), rows)


def notes_page() -> str:
    return "\n".join(_notes())


def _notes() -> Iterator[str]:
    yield "# Notes\n"
    yield "Parts of other messages: reasons, lines of a plan, and what a run says when it starts."
    yield _PARAMETERS
    for package, messages in _having(["note"]):
        yield f"## {package}\n\n{_ABOUT[package]}\n"
        yield table(("code", "text"), [(code(one.code), template(one.text)) for one in messages])


def _having(kinds: Collection[Kind]) -> Iterator[tuple[str, list[Message]]]:
    for package, messages in catalogue().items():
        if wanted := [message for message in messages if message.kind in kinds]:
            yield package, wanted


def _remedies(message: Message) -> str:
    return bullets([remedy(text) for text in message.remedies])
