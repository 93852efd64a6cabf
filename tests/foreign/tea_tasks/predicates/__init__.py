"""Predicates: one file each."""
