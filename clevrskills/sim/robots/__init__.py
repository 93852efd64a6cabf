"""Robots: descriptions, controllers and the suction model."""
