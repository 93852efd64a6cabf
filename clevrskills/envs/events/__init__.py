"""Events of episodes: what went wrong, at which step, and how the arm moved."""
