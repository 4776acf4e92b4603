"""Seed 002: how many visits in each window, once it is closed."""

from __future__ import annotations

from anabranch.flow.transform import count_by_window

transform = count_by_window
