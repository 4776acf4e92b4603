"""Delta tables without a JVM: the lake, and the rows that a query has written."""
