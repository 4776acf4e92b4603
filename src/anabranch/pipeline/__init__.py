"""What runs: definitions of pipelines as frozen values, and the catalog of them."""
