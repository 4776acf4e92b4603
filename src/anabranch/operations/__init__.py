"""What all operations share: the log of plans and receipts, the fence."""
