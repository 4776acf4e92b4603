"""Where files lie: a directory, or memory in tests."""
