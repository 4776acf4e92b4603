"""Delta tables without a JVM."""
