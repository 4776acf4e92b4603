"""Generated events: what to generate (recipe, timeline), the records (visits, events, spoil), sending, and the ledger."""
