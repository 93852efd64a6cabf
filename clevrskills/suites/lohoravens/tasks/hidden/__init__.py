"""Tasks with hidden blocks."""
