"""Sequential evaluation: intervals and tests that hold whenever one stops."""
