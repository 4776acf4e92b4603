"""What fields mean whose source has no comment for them alone. Every field of the reference has a meaning."""

from __future__ import annotations

from tools.reference.meanings.audits import AUDITS
from tools.reference.meanings.checkpoints import CHECKPOINTS
from tools.reference.meanings.operations import OPERATIONS
from tools.reference.meanings.projects import PROJECTS

# Dataclass -> field -> meaning. It replaces a comment in the source, which is read by those who know the code.
MEANINGS = {**AUDITS, **CHECKPOINTS, **OPERATIONS, **PROJECTS}
assert len(MEANINGS) == len(AUDITS) + len(CHECKPOINTS) + len(OPERATIONS) + len(PROJECTS), "a dataclass is described twice"
