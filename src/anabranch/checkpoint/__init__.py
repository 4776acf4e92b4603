"""What is in a Structured Streaming checkpoint, ours or not."""
