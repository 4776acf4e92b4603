"""Recompute event-time windows from the lake beside the running stream."""
