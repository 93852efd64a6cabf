"""iVISPAR: sliding puzzles, one move per turn, observed as 3D images, drawings or text."""

ARM = "geoms_arm"
"""Name of the task with an arm."""
TASKS = ("geoms", "tiles", "listing", ARM)
"""Names of the tasks."""
VECTOR_ENVS = {"geoms": "clevrskills.suites.ivispar.vector:make_vec"}
"""Factories of vector environments by task."""
