"""Seed 002: how many visits in each window, once it is closed."""

from __future__ import annotations

from anabranch.streaming.transforms import count_by_window

transform = count_by_window
