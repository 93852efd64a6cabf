"""Sentences that ask for the tasks of LoHoRavens."""
