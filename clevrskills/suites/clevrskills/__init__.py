"""The ClevrSkills suite: 33 tabletop tasks, the paper's curriculum and its results."""
