"""Prompts of the field: what language models are told, and a reader of it."""
