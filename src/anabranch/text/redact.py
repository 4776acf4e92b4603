"""Which settings are secrets, and what of them may be seen: nothing.

One rule for the screen, for plans, receipts and logs.
"""

from __future__ import annotations

import re

_SECRET_NAME = re.compile(
    r"password|passphrase|passwd|secret|token|jaas|credential|private|oauthbearer\.config|user\.info"
    r"|(access|account|api|encryption)[._-]?key|(^|\.)key\.pem|keystore\.key",
    re.I,
)
# A user's name and password inside an address: //user:word@host
_SECRET_IN_ADDRESS = re.compile(r"//[^/@\s]+@")

HIDDEN = "(hidden)"


def is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def shown(name: str, value: object) -> str:
    """A setting's value as it may be shown."""
    if value is None:
        return ""
    return HIDDEN if is_secret(name) else _SECRET_IN_ADDRESS.sub(f"//{HIDDEN}@", str(value))
