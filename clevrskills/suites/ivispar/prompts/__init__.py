"""Prompts of boards for language models."""
