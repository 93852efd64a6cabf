"""Rules of the household: what there is, what can be seen, what the verbs do."""
