"""The line of a user's file that a finding is about: where the pipeline's function calls something by one of its names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.topic import Place


def place_of(pipeline: Pipeline, names: tuple[str, ...]) -> Place | None:
    """In the function, or else anywhere in its file, where helpers are; or else the function itself."""
    declared = pipeline.place
    if declared is None or not names or (tree := _parsed(declared.file)) is None:
        return declared
    function = next((node for node in ast.walk(tree) if _is_function(node, declared.line)), None)
    for part in (function, tree):
        lines = [] if part is None else sorted(_calls(part, names))
        if lines:
            return Place(declared.file, lines[0])
    return declared


def _parsed(file: str) -> ast.Module | None:
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


def _is_function(node: ast.AST, line: int) -> bool:
    """Its first line is that of its first decorator."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return min(node.lineno, *(one.lineno for one in node.decorator_list), node.lineno) == line


def _calls(tree: ast.AST, names: tuple[str, ...]) -> Iterator[int]:
    """Calls by name, and texts of SQL that name it."""
    in_sql = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b", re.I)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in names:
                yield getattr(called, "end_lineno", None) or node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and in_sql.search(node.value):
            yield node.lineno
