"""Frozen episodes: sampling, screening and files of ``clevrskills freeze``."""
