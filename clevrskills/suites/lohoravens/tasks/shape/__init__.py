"""Tasks that ask for a shape."""
