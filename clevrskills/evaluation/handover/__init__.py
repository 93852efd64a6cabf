"""Handover: the oracle does a part of an episode, a policy the rest; where compositions break."""
