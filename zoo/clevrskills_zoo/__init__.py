"""Checkpoints of published policies, a folder for each, with a card."""
