"""Tasks that ask to count blocks by color."""
