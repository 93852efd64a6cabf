"""``clevrskills check``: verification of datasets and their episodes."""
