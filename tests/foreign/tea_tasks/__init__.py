"""Tasks about tea: a distribution of its own, for tests."""
