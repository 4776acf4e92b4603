"""What is said about the delay that records needed."""

from __future__ import annotations

from anabranch.errors import refusal

NO_WINDOWS_CLOSE = refusal(
    "no-windows-close",
    "{pipeline} closes no event-time windows by a watermark: no record of it can be too late for one",
    "anabranch pipelines   lists the pipelines, with their windows and watermarks",
)
SEVERAL_WATERMARKS = refusal(
    "several-watermarks",
    "{pipeline} reads {topics:, }: its watermark is the lowest of several, and one lake does not tell what moved it",
    "anabranch history {pipeline}   shows how many records were late",
)
EMPTY_TIMES = refusal("empty-times", "there is no time between {start} and {end}", "--from must be before --to")
