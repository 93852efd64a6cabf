"""``clevrskills check``: faults of a dataset as a whole, and of each episode."""
