"""Handover: the oracle does part of an episode, to locate failures of composition."""
