"""Visits made to order: what to make (recipe), the records (visits, spoil), sending (pace, send), the ledger."""
