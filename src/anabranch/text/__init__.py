"""Text for people: durations, times, sizes, names, and what must be escaped or hidden."""
