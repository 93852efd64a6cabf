"""Prompts for language models."""
