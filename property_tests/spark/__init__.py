"""Laws that need Spark, for all inputs."""
