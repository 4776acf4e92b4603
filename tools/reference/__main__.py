"""`python -m tools.reference` writes docs/reference; with --check it changes nothing, and exits with 1 if a page is stale."""

from __future__ import annotations

import sys

from tools.reference import REGENERATE, stale, write

if sys.argv[1:] == ["--check"]:
    if names := stale():
        sys.exit(f"docs/reference is stale ({', '.join(names)}): {REGENERATE}")
elif sys.argv[1:]:
    sys.exit(f"usage: {REGENERATE} [--check]")
else:
    write()
