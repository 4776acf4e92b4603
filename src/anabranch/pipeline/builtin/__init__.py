"""The pipelines of the seeds: declaration and transformation of each in one file."""
