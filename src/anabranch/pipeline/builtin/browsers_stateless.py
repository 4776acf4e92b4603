"""Seed 004: by window and browser, within each batch. The same logic as over all batches; only the run differs."""

from __future__ import annotations

from anabranch.pipeline.builtin.browsers_stateful import transform

__all__ = ["transform"]
