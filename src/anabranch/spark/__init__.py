"""What Spark needs: Java, jars, the JVM, the session."""
