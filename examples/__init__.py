"""Examples: a retail program, the rows of one of its views, and a demonstration."""
