"""Spark's parts: Java, jars, the JVM, the session."""
