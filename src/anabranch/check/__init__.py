"""Whether a pipeline is what it says it is, before it runs: declaration, Spark's plan, and a proof on drawn events."""
