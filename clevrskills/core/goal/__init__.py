"""Goals as trees of predicates, for any kind of world."""
