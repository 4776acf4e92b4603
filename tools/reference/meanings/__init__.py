"""What fields mean whose source has no comment for them alone. Every field of the reference has a meaning."""

from __future__ import annotations

from tools.reference.meanings.audits import AUDITS
from tools.reference.meanings.checkpoints import CHECKPOINTS
from tools.reference.meanings.explanations import EXPLANATIONS
from tools.reference.meanings.operations import OPERATIONS
from tools.reference.meanings.projects import PROJECTS

# Dataclass -> field -> meaning. It replaces a comment in the source, which is read by those who know the code.
_PARTS = (AUDITS, CHECKPOINTS, EXPLANATIONS, OPERATIONS, PROJECTS)
MEANINGS = {name: fields for part in _PARTS for name, fields in part.items()}
assert len(MEANINGS) == sum(map(len, _PARTS)), "a dataclass is described twice"
