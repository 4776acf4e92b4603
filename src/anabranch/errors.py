"""Everything Anabranch says about what went wrong or needs attention: a code with parameters, its words, and what to do.

    AnabranchError
    ├── Failed     1   something outside failed: no broker, no disk, no answer
    ├── Misused    2   the command or the configuration is wrong
    └── Refused    3   it could be done and would do harm; nothing was changed

The place that decides knows a code and its parameters. The words and the remedies are in one catalogue for each capability
(`messages.py` beside the code), so that a rewording touches one file; `--json`, plans on disk and tests carry the code.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

Kind = Literal["failure", "misuse", "refusal", "finding", "note"]
E = TypeVar("E", bound="AnabranchError")


class Catalogue:
    """Every message by its code; the reference is generated from it."""

    messages: ClassVar[dict[str, Message]] = {}


@dataclass(frozen=True)
class Message:
    """Words with places for parameters. `{n:#file}` writes "1 file" or "2 files"; a list is joined by semicolons."""

    code: str
    kind: Kind
    text: str
    remedies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.code not in Catalogue.messages, f"two messages have the code {self.code}"
        Catalogue.messages[self.code] = self

    @cached_property
    def fields(self) -> frozenset[str]:
        parsed = (part for template in (self.text, *self.remedies) for part in _FORMATTER.parse(template))
        return frozenset(name.partition(".")[0].partition("[")[0] for _, name, _, _ in parsed if name)

    def __call__(self, **params: Any) -> Reason:
        assert self.fields <= params.keys(), f"{self.code} lacks {sorted(self.fields - params.keys())}"
        return Reason(self.code, params)


@dataclass(frozen=True)
class Reason:
    """A code and its parameters, which JSON can hold. Another Reason may be among them."""

    code: str
    params: Mapping[str, Any]

    def __post_init__(self) -> None:
        # Those among the parameters come back from a file as plain objects.
        object.__setattr__(self, "params", {name: _revived(value) for name, value in self.params.items()})

    @property
    def text(self) -> str:
        if (message := Catalogue.messages.get(self.code)) is None:
            # Of a plan that a newer version wrote: shown as it is.
            return f"{self.code} {dict(self.params)}"
        return _FORMATTER.vformat(message.text, (), self.params)

    @property
    def remedies(self) -> tuple[str, ...]:
        message = Catalogue.messages.get(self.code)
        return tuple(way for template in (message.remedies if message else ()) for way in _ways(template, self.params) if way)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "params": _jsonable(self.params), "text": self.text}


class AnabranchError(Exception):
    exit_code = 1
    label = "error"

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason

    @property
    def code(self) -> str:
        return self.reason.code

    @property
    def text(self) -> str:
        return self.reason.text

    @property
    def remedies(self) -> tuple[str, ...]:
        return self.reason.remedies

    def __str__(self) -> str:
        lines = [f"{self.label}[{self.code}]: {self.text}", *(f"  -> {remedy}" for remedy in self.remedies)]
        return "\n".join(lines)


class Failed(AnabranchError):
    exit_code = 1


class Misused(AnabranchError):
    exit_code = 2
    label = "usage"


class Refused(AnabranchError):
    exit_code = 3
    label = "refused"


@dataclass(frozen=True)
class ErrorMessage(Generic[E]):
    """A message that ends a command: `raise TOPIC_MISSING(topic="visits")`."""

    message: Message
    error: type[E]

    def __call__(self, **params: Any) -> E:
        return self.error(self.message(**params))

    @property
    def code(self) -> str:
        return self.message.code


def failure(code: str, text: str, *remedies: str) -> ErrorMessage[Failed]:
    return ErrorMessage(Message(code, "failure", text, remedies), Failed)


def misuse(code: str, text: str, *remedies: str) -> ErrorMessage[Misused]:
    return ErrorMessage(Message(code, "misuse", text, remedies), Misused)


def refusal(code: str, text: str, *remedies: str) -> ErrorMessage[Refused]:
    return ErrorMessage(Message(code, "refusal", text, remedies), Refused)


def finding(code: str, text: str, *remedies: str) -> Message:
    return Message(code, "finding", text, remedies)


def note(code: str, text: str, *remedies: str) -> Message:
    """A part of another message, or of a plan: why a batch cannot be rewound to, what to mind."""
    return Message(code, "note", text, remedies)


# Every adapter may meet it. What a user may not read is not damaged: nothing is moved, restored or repaired for it.
PERMISSION_DENIED = failure(
    "permission-denied",
    "permission denied: this user may not read or write {path}",
    "namei -l {path}   shows who may",
    "run the command as the user who may, or let this one in by chown or chmod; nothing there needs to be moved or restored",
)


def counted(count: int, one: str, many: str = "") -> str:
    """`1 file`, `1,203 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, Reason):
            return value.text
        if isinstance(value, list | tuple):
            return (format_spec or "; ").join(self.format_field(one, "") for one in value)
        if format_spec.startswith("#"):
            one, _, many = format_spec[1:].partition("/")
            return counted(value, one, many)
        return super().format_field(value, format_spec)


_FORMATTER = _Formatter()


def _ways(template: str, params: Mapping[str, Any]) -> Iterator[str]:
    """One remedy; a template that is nothing but a list is one for each of its entries. An empty one is left out."""
    value = params.get(template[1:-1]) if template.startswith("{") and template.endswith("}") else None
    if isinstance(value, list | tuple):
        yield from (_FORMATTER.format_field(one, "") for one in value)
    else:
        yield _FORMATTER.vformat(template, (), params)


def _revived(value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() == {"code", "params"}:
        return Reason(value["code"], value["params"])
    return [_revived(one) for one in value] if isinstance(value, list | tuple) else value


def _jsonable(value: Any) -> Any:
    if isinstance(value, Reason):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(key): _jsonable(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_jsonable(one) for one in value]
    return value
