"""Seed 001: how many visits in each window, corrected as they come."""

from __future__ import annotations

from anabranch.streaming.transforms import count_by_window

transform = count_by_window
