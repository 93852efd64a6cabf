"""Sentences that ask for the tasks, by family; :mod:`clevrskills.tasks.bank` says how to read them.

They are written, not made of parts: each differs from the others of its task in how it is built.
"""
