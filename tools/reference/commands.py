"""commands.md: every command with its arguments and options, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.main import get_command

from anabranch.cli.main import app
from tools.reference.markdown import code, escaped, table

# What an option takes, where the command does not name it.
_PLACEHOLDERS = {int: "N", float: "NUMBER", Path: "FILE", str: "TEXT"}
# Added by typer, not ours to describe.
_OF_THE_SHELL = ("install_completion", "show_completion")

_INTRODUCTION = """\
# Commands

`anabranch COMMAND --help` prints the same.
`-C`, `--quiet` and `--debug` may appear anywhere in the command.
Data goes to stdout, messages go to stderr.
A command that shows a plan asks before it applies it; if stdin is not a terminal, it needs `--yes` or `--dry-run`.
"""


def commands_page() -> str:
    return "\n".join(_sections(get_command(app)))


def _sections(root: Any) -> Iterator[str]:
    yield _INTRODUCTION
    yield "## Global options\n"
    yield _options(root)
    for name, command in root.commands.items():
        yield from _command(f"anabranch {name}", command)
        for below, subcommand in getattr(command, "commands", {}).items():
            yield from _command(f"anabranch {name} {below}", subcommand)


def _command(name: str, command: Any) -> Iterator[str]:
    # A group without a subcommand runs its callback, whose text says more.
    own = command.callback.__doc__ if getattr(command, "invoke_without_command", False) else None
    text, _, example = (own or command.help or "").partition("Example:")
    arguments = [param for param in command.params if not param.opts[0].startswith("-")]
    below = getattr(command, "commands", None)
    group = "" if below is None else "[COMMAND]" if command.invoke_without_command else "COMMAND"
    parts = [name, *map(_argument, arguments), "[OPTIONS]" if _shown(command) else "", group]
    usage = " ".join(filter(None, parts))
    yield f"## {name}\n"
    yield "\n".join(line.strip() for line in escaped(text).strip().splitlines()) + "\n"
    yield f"```text\n{usage}\n```\n"
    if any(param.help for param in arguments):
        yield table(("argument", "meaning"), [(code(_metavar(param)), escaped(param.help or "")) for param in arguments])
    if _shown(command):
        yield _options(command)
    if example:
        yield f"Example: {code(example.strip())}\n"


def _shown(command: Any) -> list[Any]:
    return [param for param in command.params if param.opts[0].startswith("-") and param.name not in _OF_THE_SHELL]


def _options(command: Any) -> str:
    types = get_type_hints(command.callback) if command.callback else {}
    rows = [(code(_spelling(param, types)), _default(param), _meaning(param)) for param in _shown(command)]
    return table(("option", "default", "meaning"), rows)


def _meaning(param: Any) -> str:
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    bounds = [f"at least {least}"] if least is not None else []
    bounds += [f"at most {most}"] if most is not None else []
    multiple = ["may be given several times"] if getattr(param, "multiple", False) else []
    extra = f" ({', '.join([*bounds, *multiple])})." if bounds or multiple else "."
    return escaped(param.help or f"The share of {param.name.replace('_', '-')} records.").removesuffix(".") + extra


def _spelling(param: Any, types: dict[str, Any]) -> str:
    names = ", ".join(param.opts)
    if getattr(param, "is_flag", False):
        return " / ".join([names, *param.secondary_opts])
    return f"{names} {param.metavar or _placeholder(types.get(param.name))}"


def _placeholder(annotation: Any) -> str:
    kinds = [kind for kind in (annotation, *get_args(annotation)) if kind in _PLACEHOLDERS]
    return _PLACEHOLDERS[kinds[0]] if kinds else "TEXT"


def _default(param: Any) -> str:
    if param.required:
        return "required"
    if getattr(param, "is_flag", False):
        return code(param.secondary_opts[0]) if param.secondary_opts and not param.default else ""
    return "" if param.default is None else code(str(param.default))


def _argument(param: Any) -> str:
    return _metavar(param) if param.required or _metavar(param).startswith("[") else f"[{_metavar(param)}]"


def _metavar(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return name if param.nargs == 1 or name.endswith("...") or "|" in name else f"{name}..."
