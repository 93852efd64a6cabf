"""Suites of tasks: each with its protocol, frozen episodes and published results."""
