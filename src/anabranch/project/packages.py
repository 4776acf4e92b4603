"""The Python packages that must be there, and what to do where one is not: the environment is broken, not the command."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from anabranch.errors import Failed
from anabranch.project import messages

# The module that is imported -> the package that has it.
_PACKAGES = {
    **{name: name for name in ("pyspark", "pandas", "pyarrow", "deltalake", "pydantic", "rich", "filelock", "psutil", "numpy")},
    "platformdirs": "platformdirs",
    "svg": "svg.py",
    "confluent_kafka": "confluent-kafka",
    "google": "protobuf",
    "pydantic_settings": "pydantic-settings",
}
# PySpark imports these in a batch, or in a worker: a run would fail minutes after its start.
_NEEDED_BY_A_RUN = ("pandas", "pyarrow", "google.protobuf")


def package_missing(module: str) -> Failed | None:
    """None: no package of ours."""
    package = _PACKAGES.get(module.partition(".")[0])
    if package is None:
        return None
    return messages.PACKAGE_MISSING(package=package, environment=sys.prefix, python=sys.executable)


def check_packages() -> None:
    """Refuses a run that would fail in a batch. Nothing is imported."""
    for module in _NEEDED_BY_A_RUN:
        if not _is_there(module) and (missing := package_missing(module)):
            raise missing


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of its parent
        return False
