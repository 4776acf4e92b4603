"""`python -m anabranch.setup`: fetches all jars ahead of time, with progress. What `make install` calls."""

from __future__ import annotations

import sys

from anabranch.core.errors import AnabranchError
from anabranch.setup.jars import JarSet, ensure_jars


def main() -> int:
    jar_sets: tuple[JarSet, ...] = ("broker", "spark")
    for jar_set in jar_sets:
        try:
            ensure_jars(jar_set, progress=lambda done, total, jar_set=jar_set: _show(jar_set, done, total))  # type: ignore[misc]
        except AnabranchError as error:
            sys.stderr.write(f"{error}\n")
            return error.exit_code
    return 0


def _show(jar_set: str, done: int, total: int) -> None:
    end = "\n" if done == total else "\r"
    if sys.stderr.isatty() or done in (0, total):
        sys.stderr.write(f"Fetching the {jar_set} jars: {done} of {total}{end if sys.stderr.isatty() else chr(10)}")


if __name__ == "__main__":
    sys.exit(main())
