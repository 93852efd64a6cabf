"""Policies from papers, for ``clevrskills train``."""
