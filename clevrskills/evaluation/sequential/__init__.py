"""Sequential evaluation: anytime-valid intervals and tests."""
