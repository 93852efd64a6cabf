"""Training scenes: images labeled with bodies, prompt and next subgoal."""
