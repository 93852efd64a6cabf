"""``clevrskills export``: a dataset in the formats of other tools."""
