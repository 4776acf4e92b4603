"""Take a checkpoint back to an earlier batch, together with its sink; and undo that."""
