"""Learned policies, a folder each, and the parts that several of them share."""
