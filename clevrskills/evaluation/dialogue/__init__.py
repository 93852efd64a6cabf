"""Dialogues with language models: transcripts, cost estimates, rescoring."""
