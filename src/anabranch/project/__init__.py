"""What must be in place before anything runs: settings, the project's directory, Java, jars, the Spark session."""
