"""What became of the records of one window, and what closed it or what it waits for."""
