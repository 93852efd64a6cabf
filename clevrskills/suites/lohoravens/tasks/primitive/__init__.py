"""Primitives: one pick, one place."""
