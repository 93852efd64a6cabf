"""Learned policies, one folder each, and parts shared by several of them."""
