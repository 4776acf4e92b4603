"""Which results of a pipeline are wrong, and why."""
