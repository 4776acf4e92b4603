"""What runs: pipelines as frozen values, and their catalog. Loads no pyspark: a transformation imports it when called."""
