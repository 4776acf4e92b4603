"""Decides which settings are secrets, and hides their values.

One rule for the terminal, plans, receipts and logs.
"""

from __future__ import annotations

import re

_SECRET_NAME = re.compile(
    r"password|passphrase|passwd|secret|token|jaas|credential|private|oauthbearer\.config|user\.info"
    r"|(access|account|api|encryption)[._-]?key|(^|\.)key\.pem|keystore\.key",
    re.I,
)
# User name and password inside an address: //user:password@host
_SECRET_IN_ADDRESS = re.compile(r"//[^/@\s]+@")

HIDDEN = "(hidden)"


def is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def shown(name: str, value: object) -> str:
    """A setting's value, redacted for display."""
    if value is None:
        return ""
    return HIDDEN if is_secret(name) else _SECRET_IN_ADDRESS.sub(f"//{HIDDEN}@", str(value))
