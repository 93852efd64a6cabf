"""``clevrskills view`` and ``clevrskills gallery``: pages and videos of episodes."""
