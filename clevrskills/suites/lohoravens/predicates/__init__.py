"""Predicates of LoHoRavens: blocks in zones, areas, bowls and towers, and others left alone."""
