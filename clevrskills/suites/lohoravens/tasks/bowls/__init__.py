"""Tasks with bowls."""
