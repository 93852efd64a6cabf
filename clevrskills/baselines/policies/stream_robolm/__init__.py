"""StreamRoboLM."""
