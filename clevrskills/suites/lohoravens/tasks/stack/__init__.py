"""Stacking tasks."""
