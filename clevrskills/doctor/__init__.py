"""``clevrskills doctor``: checks of this machine, and the remedy for what is missing."""
