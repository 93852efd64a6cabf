"""Prompts of the household for language models."""
