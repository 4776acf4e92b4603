"""Generated visits: what to generate (recipe), the records (visits, spoil), sending (pace, send), and the ledger."""
