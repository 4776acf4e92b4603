"""Recompute event-time windows from the lake, and emit their results again beside the running stream."""
