"""What is said about audits, explanations and late records."""

from __future__ import annotations

from anabranch.errors import refusal

NEVER_RAN = refusal(
    "nothing-to-audit", "{pipeline} has not finished a batch: there is nothing to audit", "anabranch run {pipeline}"
)
