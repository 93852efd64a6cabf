"""Tasks of level L2."""
