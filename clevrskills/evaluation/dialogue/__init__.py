"""Dialogues of policies that talk: their transcripts, what they cost, and their scores again."""
