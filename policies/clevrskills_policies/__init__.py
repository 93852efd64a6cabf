"""Policies of papers, in the form that ``clevrskills train`` expects."""
