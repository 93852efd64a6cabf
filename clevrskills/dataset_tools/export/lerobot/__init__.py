"""Datasets of LeRobot: versions 3.0, 3.1 and 2.1."""
