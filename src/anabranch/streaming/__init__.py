"""How pipelines run, in reading order: source, decoder, transforms, results, sinks, query, run, runner, status, stop."""
