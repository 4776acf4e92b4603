"""Sizes, first lines, one place for each effect, messages that fit their parameters, and no names of foreign hosts."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from anabranch.errors import Catalogue, ErrorMessage, Message

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "anabranch"
PYTHON = [path for folder in ("src", "tests", "benchmarks", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
SCALA = sorted(SOURCE.rglob("*.scala"))
MOST_LINES, MOST_FUNCTION_LINES = 300, 50
MOST_COLUMNS = 128


def _lines(function: ast.FunctionDef) -> int:
    """Without its docstring: what is explained to users does not make it longer."""
    first = function.body[0]
    has_docstring = ast.get_docstring(function) is not None
    explained = (first.end_lineno or 0) - first.lineno + 1 if has_docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - explained


def test_no_file_is_over_300_lines_and_no_function_over_50() -> None:
    long = []
    for path in PYTHON:
        text = path.read_text(encoding="utf-8")
        if len(text.splitlines()) > MOST_LINES:
            long.append(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (lines := _lines(node)) > MOST_FUNCTION_LINES:
                # What typer makes of a command's options is its signature.
                body = (node.end_lineno or 0) - node.body[0].lineno + 1
                if path.parent.name != "cli" or body > MOST_FUNCTION_LINES:
                    long.append(f"{path.relative_to(ROOT)}: {node.name} has {lines} lines")
    assert long == []


def test_scala_files_are_as_short_and_narrow_as_others_and_say_what_they_are_for() -> None:
    for path in SCALA:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= MOST_LINES, path
        assert max(map(len, text.splitlines())) <= MOST_COLUMNS, path
        assert "\n/** " in text, path
    assert SCALA


def test_every_file_says_in_its_first_line_what_it_is_for() -> None:
    assert [str(path) for path in PYTHON if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))] == []


def test_what_is_shown_is_escaped_in_one_place() -> None:
    """Elsewhere only a stream's tables, which are escaped already."""
    writes = re.compile(r"typer\.echo\(|(?<!\w)print\(|sys\.std(?:out|err)\.(?:buffer\.)?write\(")
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if writes.search(path.read_text(encoding="utf-8"))}
    assert found <= {"cli/output.py", "cli/live.py"}


def test_no_path_of_a_checkpoint_is_built_outside_storage() -> None:
    built = re.compile(r"\.with_name\(|/ \"(?:offsets|commits|state|sources|metadata|_rewind)\"")
    found = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if built.search(path.read_text(encoding="utf-8"))]
    # The class archive is no checkpoint.
    assert [path for path in found if not path.startswith("storage/")] == ["spark/class_archive.py"]


def test_no_table_is_read_through_python_by_threads_that_outlive_it() -> None:
    """deltalake's pyarrow scans abort Python at its exit, about one time in a hundred: delta/table.py."""
    assert [path.name for path in SOURCE.rglob("*.py") if ".to_pyarrow_" in path.read_text(encoding="utf-8")] == []


def test_no_host_of_a_registry_and_no_foreign_address_is_named_anywhere() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    known = {"www.apache.org", "www.w3.org"}  # a licence, and the name of SVG
    for name in files:
        if not (ROOT / name).exists():
            continue
        hosts = re.findall(r"https?://([\w.-]+)", (ROOT / name).read_text(encoding="utf-8", errors="ignore"))
        strangers = {host for host in hosts if "." in host and host not in known and not host.startswith("127.")}
        assert strangers == set(), f"{name} names {strangers}"


def _catalogues() -> Iterator[tuple[str, Message]]:
    for path in sorted(SOURCE.rglob("messages.py")):
        module = importlib.import_module("anabranch." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
        for name, value in vars(module).items():
            if isinstance(value, ErrorMessage):
                yield f"{module.__name__}.{name}", value.message
            elif isinstance(value, Message):
                yield f"{module.__name__}.{name}", value


def test_every_message_is_used_and_is_called_with_what_its_words_need() -> None:
    messages = dict(_catalogues())
    calls: dict[str, list[tuple[str, set[str] | None]]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                # None: keywords that only the run knows.
                given = None if any(one.arg is None for one in node.keywords) else {str(one.arg) for one in node.keywords}
                calls.setdefault(name, []).append((f"{path.relative_to(SOURCE)}:{node.lineno}", given))
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for place, message in messages.items():
        name = place.rpartition(".")[2]
        assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{place} is never used"
        for where, given in calls.get(name, []):
            assert given is None or message.fields <= given, f"{where}: {name} lacks {message.fields - given}"


def test_every_refusal_failure_and_finding_is_a_plain_sentence_without_a_full_stop() -> None:
    for place, message in _catalogues():
        if message.kind != "note":
            assert not message.text.endswith("."), place
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", message.code), place
    assert len(Catalogue.messages) > 200
