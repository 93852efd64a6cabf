"""Octo."""
