"""The rooms of ARCHITECTURE.md: imports point downward only, the core is pure, light commands stay light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "anabranch"

# A room may import from itself and from those named here.
MAY_IMPORT = {
    "core": set[str](),
    "flow": {"core"},
    "pipelines": {"core", "flow"},
    "world": {"core"},
    "generate": {"core"},
    "setup": {"core"},
    "broker": {"core", "world", "setup"},
    "operate": {"core", "flow", "pipelines", "world", "setup", "broker"},
    "cli": {"core", "operate", "setup", "world", "broker", "generate"},
}
# The core decides; it must not be able to look.
NOT_IN_CORE = {
    "os",
    "pathlib",
    "subprocess",
    "socket",
    "time",
    "threading",
    "random",
    "uuid",
    "pyspark",
    "confluent_kafka",
    "rich",
    "typer",
}
# One place for each effect.
ONLY_IN = {
    "pyspark": {"flow", "pipelines", "setup/session.py", "operate/running.py"},
    "confluent_kafka": {"world", "generate"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pydantic_settings": {"setup/settings.py"},
}


def _modules() -> Iterator[tuple[str, Path, set[str]]]:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
        relative = path.relative_to(SOURCE)
        if len(relative.parts) > 1:
            yield relative.parts[0], relative, names


def test_imports_point_downward_only() -> None:
    wrong = [
        f"{path} imports {name}"
        for room, path, names in _modules()
        for name in names
        if name.startswith("anabranch.") and (target := name.split(".")[1]) != room and target not in MAY_IMPORT[room]
    ]
    assert wrong == []


def test_the_core_is_pure() -> None:
    wrong = [
        f"{path} imports {name}"
        for room, path, names in _modules()
        for name in names
        if room == "core" and name.split(".")[0] in NOT_IN_CORE
    ]
    assert wrong == []
    for path in (SOURCE / "core").glob("*.py"):
        assert not re.search(r"\.now\(|\bopen\(", path.read_text(encoding="utf-8")), f"{path.name} looks at the world"


def test_each_library_is_used_in_its_place() -> None:
    wrong = [
        f"{path} imports {name}"
        for room, path, names in _modules()
        for name in names
        if (places := ONLY_IN.get(name.split(".")[0])) and room not in places and path.as_posix() not in places
    ]
    assert wrong == []


def test_every_file_says_in_its_first_line_what_it_is_for() -> None:
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} has no docstring"


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["run", "--help"],
        ["pipelines"],
        ["status"],
        ["doctor"],
        ["topics"],
        ["config"],
        ["operations"],
        ["checkpoint", "visits-log"],
        ["rewind", "visits-log", "--to-batch", "1", "--yes"],
        ["undo", "nothing", "--yes"],
        ["broker", "status"],
    ],
)
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


def test_no_host_of_a_registry_and_no_foreign_address_is_named_anywhere() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    known = {"www.apache.org", "www.w3.org"}  # a licence, and the name of SVG
    for name in files:
        hosts = re.findall(r"https?://([\w.-]+)", (ROOT / name).read_text(encoding="utf-8", errors="ignore"))
        strangers = {host for host in hosts if "." in host and host not in known and not host.startswith("127.")}
        assert strangers == set(), f"{name} names {strangers}"


def test_what_is_shown_is_made_harmless_in_one_place() -> None:
    """Elsewhere only a stream's tables, which are harmless already, and values as they came, into a file."""
    writes = re.compile(r"typer\.echo\(|(?<!\w)print\(|sys\.stdout\.(?:buffer\.)?write\(")
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if writes.search(path.read_text(encoding="utf-8"))}
    assert found <= {"cli/screen.py", "cli/live.py", "cli/records.py"}


def test_no_table_is_read_through_python_by_threads_that_outlive_it() -> None:
    """deltalake's pyarrow scans abort Python at its exit, about one time in a hundred: world/delta_query.py."""
    assert [path.name for path in SOURCE.rglob("*.py") if ".to_pyarrow_" in path.read_text(encoding="utf-8")] == []
