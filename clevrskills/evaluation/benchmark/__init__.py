"""Benchmark: the protocol of a suite, run by one command, and its headline numbers."""
