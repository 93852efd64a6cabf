"""Tasks: each file is one, of its key."""
