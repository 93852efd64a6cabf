"""Tasks of level L1."""
