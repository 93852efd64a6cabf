"""``clevrskills generate``: demonstrations by many processes."""
