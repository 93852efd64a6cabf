"""Prompts of the boards: what language models are told, and a reader of it."""
