"""Creates a project that runs at once: the files of template/, in a directory that has none of them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from anabranch.project import messages

_TEMPLATE = files("anabranch.project") / "template"
# The files, each with its name in the template, where a .gitignore would be one of ours.
_FILES = {
    "anabranch.toml": "anabranch.toml",
    "pipelines.py": "pipelines.py",
    "tests/test_pipelines.py": "tests/test_pipelines.py",
    ".gitignore": "gitignore",
    "README.md": "README.md",
}


def create_project(directory: Path) -> tuple[str, ...]:
    """The names of the files that were written: all, or none."""
    if directory.exists() and not directory.is_dir():
        raise messages.NOT_A_DIRECTORY(path=str(directory), remedy="pass another path: a directory is created there")
    taken = [name for name in _FILES if _is_there(directory / name)]
    if taken:
        raise messages.WOULD_OVERWRITE(directory=str(directory), files=taken)
    created: list[Path] = []
    try:
        for name, source in _FILES.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                created.append(path)
                file.write(_TEMPLATE.joinpath(source).read_bytes())
    except BaseException:
        # A second attempt would be refused because of what the first has left.
        for path in created:
            path.unlink()
        raise
    return tuple(_FILES)


def first_commands() -> list[str]:
    """What the project's README tells to do."""
    lines = _TEMPLATE.joinpath("README.md").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()
