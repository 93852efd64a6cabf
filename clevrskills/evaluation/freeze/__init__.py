"""Frozen episodes: drawn, screened and written as data by ``clevrskills freeze``."""
