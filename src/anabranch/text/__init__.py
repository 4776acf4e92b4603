"""Text for people: durations, times, sizes, suggested names, escaping and redaction. Pure."""
