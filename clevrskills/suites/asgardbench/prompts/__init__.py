"""Prompts of the household: what language models are told, and a reader of it."""
