"""Demonstrations as windows for training."""
