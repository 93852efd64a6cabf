"""Policies that come with the package: the oracle, recorded actions, and some without skill."""
