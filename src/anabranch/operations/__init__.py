"""What all operations share: the log of plans and receipts, the change of a checkpoint as a value, the fence."""
