"""Agents: policies that ask language models, behind OpenAI-compatible endpoints or scripted."""
