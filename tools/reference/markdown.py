"""Tables and texts in Markdown."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

_FORMATTER = string.Formatter()
_BEGINS_COMMAND = re.compile(r"(anabranch |keytool |openssl |kill |--)")
_COMMAND_ALONE = re.compile(r"anabranch( ({[a-z_]+}|[a-z-]+))+$")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are Markdown; a bar in one is escaped here."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines) + "\n"


def code(text: str) -> str:
    return f"`{text}`"


def escaped(text: str) -> str:
    """Plain text: what Markdown would take for HTML stays visible."""
    return text.replace("<", r"\<")


def template(text: str) -> str:
    """A message with its parameters as {name}: `{n:#file}` becomes "{n} files", `{x!r}` becomes "'{x}'"."""
    parts = []
    for literal, name, spec, conversion in _FORMATTER.parse(text):
        parts.append(escaped(literal))
        if name is None:
            continue
        shown = f"'{{{name}}}'" if conversion == "r" else f"{{{name}}}"
        if spec and spec.startswith("#"):
            one, _, many = spec[1:].partition("/")
            shown += f" {many or one + 's'}"
        parts.append(shown)
    return "".join(parts)


def remedy(text: str) -> str:
    """A command is separated from what it does by three blanks."""
    command, blanks, does = template(text).partition("   ")
    if blanks and _BEGINS_COMMAND.match(command):
        return f"{code(command)} {does}" if does.startswith("(") else f"{code(command)}: {does}"
    return code(command) if not blanks and _COMMAND_ALONE.match(command) else f"{command} {does}".strip()


def bullets(lines: Sequence[str]) -> str:
    """Lines of one cell."""
    return "<br>".join(lines)
