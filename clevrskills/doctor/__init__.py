"""``clevrskills doctor``: checks of this machine, with remedies."""
