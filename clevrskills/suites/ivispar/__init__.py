"""iVISPAR: sliding geoms on a board, one move per turn, as an image, a drawing or text."""

ARM = "geoms_arm"
"""The task in which an arm moves the pieces."""
TASKS = ("geoms", "tiles", "listing", ARM)
"""Names of the tasks."""
VECTOR_ENVS = {"geoms": "clevrskills.suites.ivispar.vector:make_vec"}
"""Function that makes the vector environments of a task."""
