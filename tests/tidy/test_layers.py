"""The layers of ARCHITECTURE.md: imports point downward only, decisions are pure, light commands stay light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.tidy.layers import ADAPTERS, MAY_IMPORT, ONLY_IN, PURE, PURE_EXCEPTIONS, PURE_LIBRARY

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "anabranch"
# A user's files: they are written, not imported.
TEMPLATE = Path("project/template")


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` names a module too.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _modules() -> Iterator[tuple[str, Path, set[str]]]:
    """The package, the path and what it imports, of every module but the two entry points of the package itself."""
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE)
        if TEMPLATE in relative.parents:
            continue
        if relative.name in ("__init__.py", "__main__.py") and len(relative.parts) == 1:
            continue
        package = relative.parts[0] if len(relative.parts) > 1 else relative.stem
        yield package, relative, set(_imports(ast.parse(path.read_text(encoding="utf-8"))))


def _own(names: set[str]) -> Iterator[tuple[str, str]]:
    """The package and the dotted rest of each import of ours."""
    for name in names:
        if name.startswith("anabranch."):
            _, package, *rest = name.split(".")
            yield package, "/".join(rest)


def test_imports_point_downward_only() -> None:
    order = list(MAY_IMPORT)
    for package, allowed in MAY_IMPORT.items():
        assert all(order.index(other) < order.index(package) for other in allowed.split()), package
    wrong = [
        f"{path} imports {other}"
        for package, path, names in _modules()
        for other, _ in _own(names)
        if other not in (package, "__version__") and other not in MAY_IMPORT[package].split()
    ]
    assert wrong == []


def test_no_permission_to_import_is_unused() -> None:
    used = {(package, other) for package, _, names in _modules() for other, _ in _own(names)}
    unused = [
        (package, other) for package, allowed in MAY_IMPORT.items() for other in allowed.split() if (package, other) not in used
    ]
    assert unused == []


def test_a_ui_imports_no_adapter() -> None:
    """So that a second one can do everything without the command line, and without knowing how."""
    assert set(MAY_IMPORT["cli"].split()).isdisjoint(ADAPTERS)


def _is_pure(module: str) -> bool:
    return any(fnmatch(module, pattern) for pattern in PURE)


def test_decisions_are_pure() -> None:
    wrong = []
    for _, path, names in _modules():
        module = path.with_suffix("").as_posix()
        if not _is_pure(module):
            continue
        for name in names:
            if name.startswith("anabranch."):
                target = name.removeprefix("anabranch.").replace(".", "/")
                # The module itself, or a name in it.
                if not (_is_pure(target) or _is_pure(target.rpartition("/")[0])) and not _is_lazy(path, name):
                    wrong.append(f"{path} imports {name}")
            elif not _is_pure_library(name, PURE_EXCEPTIONS.get(module, set())) and not _is_lazy(path, name):
                wrong.append(f"{path} imports {name}")
        text = (SOURCE / path).read_text(encoding="utf-8")
        assert not re.search(r"\.now\(|\bopen\(|\.today\(", text), f"{path} looks at the world"
    assert wrong == []


def _is_pure_library(name: str, also: set[str]) -> bool:
    """A module, or a name in one."""
    return bool({name, name.rpartition(".")[0]} & PURE_LIBRARY) or name.split(".")[0] in also


def _is_lazy(path: Path, name: str) -> bool:
    """A transformation imports pyspark when it is called, and for its types: not when its module is loaded."""
    if path.parts[0] != "pipeline":
        return False
    tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
    return name not in {
        found for statement in tree.body if isinstance(statement, ast.Import | ast.ImportFrom) for found in _imports(statement)
    }


def test_each_library_is_used_in_its_place() -> None:
    wrong = []
    for _, path, names in _modules():
        for name in names:
            places = ONLY_IN.get(name.split(".")[0])
            if places and not any(path.as_posix() == place or path.as_posix().startswith(f"{place}/") for place in places):
                wrong.append(f"{path} imports {name}")
    assert wrong == []


def test_the_map_in_architecture_is_the_one_that_is_tested() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|[^|]*\| ([^|]*?) \|$", text, re.M)
    assert [(package, allowed) for package, allowed in rows] == [
        (package, allowed or "-") for package, allowed in MAY_IMPORT.items()
    ]


LIGHT = [
    ["--help"], ["run", "--help"], ["pipelines"], ["status"], ["doctor"], ["topics"], ["config"], ["operations"],
    ["history", "visits-log"], ["lateness", "visits-counter"],
    ["explain", "visits-counter", "--window", "2025-09-04T07:00Z"],
    ["checkpoint", "visits-log"], ["rewind", "visits-log", "--to-batch", "1", "--yes"], ["undo", "nothing", "--yes"],
    ["resume", "nothing", "--yes"], ["broker", "status"],
]  # fmt: skip


@pytest.mark.parametrize("command", LIGHT, ids=" ".join)
def test_a_command_that_needs_no_spark_does_not_import_it(command: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from anabranch.cli.main import run_command\n"
        f"run_command({command!r})\n"
        "assert 'pyspark' not in sys.modules, 'pyspark was imported'"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_loads_nothing_that_it_does_not_need() -> None:
    code = (
        "import sys; from anabranch.cli.main import run_command; run_command(['--help'])\n"
        "print([name for name in ('rich', 'pydantic', 'confluent_kafka', 'psutil', 'deltalake') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
