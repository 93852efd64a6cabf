"""Tasks of level L0."""
