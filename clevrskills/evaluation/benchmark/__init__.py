"""Benchmark: protocol of a suite and its headline numbers."""
