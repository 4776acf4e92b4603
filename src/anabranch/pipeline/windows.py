"""The event-time windows of a pipeline, which Spark counts from the epoch: of one length, one beginning in every slide."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from anabranch.pipeline.definition import Pipeline


@dataclass(frozen=True)
class Windows:
    length_ms: int
    # As long as a window where they do not overlap.
    slide_ms: int

    @property
    def bin_ms(self) -> int:
        """All times within one bin are in the same windows."""
        return gcd(self.length_ms, self.slide_ms)

    def delay_unit_ms(self, delay_ms: int) -> int:
        """A watermark delay is told in whole ones of it: a second, or less where the times of a pipeline are finer."""
        return gcd(1000, self.length_ms, self.slide_ms, delay_ms)

    def first_end_ms(self, bin_number: int) -> int:
        """When the first of the windows that a bin is in ends."""
        return self.first_start_ms((bin_number + 1) * self.bin_ms - self.length_ms) + self.length_ms

    def first_start_ms(self, from_ms: int) -> int:
        """When the first window begins that does not begin before this."""
        return -(-from_ms // self.slide_ms) * self.slide_ms

    def last_end_ms(self, until_ms: int) -> int:
        """When the last of the windows ends that begin before this, which is where one begins."""
        return until_ms - self.slide_ms + self.length_ms


def windows_of(pipeline: Pipeline) -> Windows:
    assert pipeline.window_s is not None
    length_ms = round(pipeline.window_s * 1000)
    return Windows(length_ms, length_ms if pipeline.slide_s is None else round(pipeline.slide_s * 1000))
