"""The scripted oracle, its skills and the motion planner."""
