"""Environments of this package as other software wants them."""
